"""Features from a user's own ONNX backbone: DINOv2, CLIP, a ResNet, anything that gives maps or patch tokens.

Outputs (1, channels, height, width) are maps; outputs (1, tokens, channels) are laid out on the grid of patches, after
the class and register tokens in front are dropped; outputs of other ranks are passed over. What the file does not say
(mean, deviation, size) are options.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from segvote.errors import BadInputError, SegvoteError
from segvote.features.networks.devices import CPU, choose_device
from segvote.features.networks.network import NetworkFeatures, make_session
from segvote.features.pooling import check_pooling, choose_sides, resize_image

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
USUAL_STRIDE = 32  # of convolutional networks; the sides of their input should be multiples of it
MAX_EXTRA_TOKENS = 8  # a class token and up to seven registers
MAX_SIDE = 8192  # pixels of an input; more is a slip, or asks for more memory than there is
BLOCK = 1 << 24  # bytes that are hashed at a time
INPUT_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


class BackboneFeatures(NetworkFeatures):
    """Maps or patch tokens of an ONNX model, pooled over segments.

    Parameters
    ----------
    path
        The model; its one input is an image (n, 3, height, width).
    size
        Longest side of the input in pixels. A model of fixed sides keeps its own.
    mean, std
        What is taken from each of red, green, blue in [0, 1], and what they are then divided by.
    pooling
        ``mean`` or ``max`` over the cells of a segment.
    multiple
        Each side of the input is a multiple of this; by default the patch size if the model starts with patches, or 32.
    device
        Where it runs: ``cpu``, ``cuda``, …; see `segvote.features.networks.devices`.
    """

    standardise = True
    _blocks: tuple[int, ...] | None = None

    def __init__(
        self,
        path: str | Path,
        size: int = 448,
        mean: Sequence[float] = IMAGENET_MEAN,
        std: Sequence[float] = IMAGENET_STD,
        pooling: str = "mean",
        multiple: int | None = None,
        device: str = CPU,
    ) -> None:
        if not Path(path).is_file():
            raise BadInputError(f"expected an ONNX backbone at {path}, found no file; check the path")
        if multiple is not None and multiple < 1:
            raise BadInputError(f"expected a multiple of at least 1, got {multiple}")
        self.path, self.size, self.pooling = str(path), int(size), check_pooling(pooling)
        self.mean, self.std = tuple(map(float, mean)), tuple(map(float, std))
        self.multiple, self.device = multiple or _find_multiple(self.path), choose_device(device)
        self._check()

    def _check(self) -> None:
        if len(self.mean) != 3 or len(self.std) != 3 or min(self.std) <= 0:
            raise BadInputError(f"expected three means and three deviations above 0, got {self.mean} and {self.std}")
        if self.size < 1:
            raise BadInputError(f"expected a size of at least 1, got {self.size}")

    @property
    def blocks(self) -> tuple[int, ...]:  # type: ignore[override]
        """Channels of each map; the model is tried on a grey image, because files often do not declare them."""
        if self._blocks is None:
            grey = np.full((self.size, self.size, 3), 127, np.uint8)
            self._blocks = tuple(len(cells) for cells in self.compute_maps(grey))
        return self._blocks

    def get_key(self) -> dict[str, Any]:
        names = ("size", "mean", "std", "pooling", "multiple")
        options = {name: getattr(self, name) for name in names}
        return {**self._name_model(), **options, **self.name_device()}

    def _name_model(self) -> dict[str, Any]:
        return {"name": "backbone", "model": hash_model(self.path)}

    def compute_maps(self, image: np.ndarray) -> list[np.ndarray]:
        session, prepared = self._get_session(), self._prepare(image)
        outputs = self._run(session, prepared)
        maps = [_shape_output(output, prepared.shape[2:], self.multiple) for output in outputs if _is_map(output)]
        if not maps:
            shapes = ", ".join(str(getattr(output, "shape", type(output).__name__)) for output in outputs)
            raise BadInputError(
                f"{self.path}: expected maps (1, channels, h, w) or tokens (1, n, channels), got {shapes}; "
                "export the model without its pooling and classifier"
            )
        return maps

    def _run(self, session: Any, prepared: np.ndarray) -> list[np.ndarray]:
        try:
            return session.run(None, {session.get_inputs()[0].name: prepared})
        except Exception as error:  # onnxruntime has no common error class
            raise BadInputError(
                f"{self.path}: the model does not take an input of {prepared.shape}: {get_first_line(error)}; "
                "try other values of size and multiple"
            ) from error

    def _load_model(self) -> str:
        return self.path  # by path, because large models keep their weights in a second file beside them

    def _get_session(self) -> Any:
        if self._session is None:
            session = open_model(self.path, self.device)
            try:
                _check_input(self.path, session.get_inputs())
            except UnicodeDecodeError as error:
                raise BadInputError(f"{self.path}: the names of its inputs are no text ({error.reason})") from error
            self._session = session
        return self._session

    def _prepare(self, image: np.ndarray) -> np.ndarray:
        model_input = self._get_session().get_inputs()[0]
        sides = choose_sides(image.shape[0], image.shape[1], self.size, self.multiple)
        fixed = [
            side if isinstance(side, int) else chosen for side, chosen in zip(model_input.shape[2:], sides, strict=True)
        ]
        _check_sides(self.path, fixed)
        unit = resize_image(image, *fixed).astype(np.float32) / 255
        scaled = (unit - np.array(self.mean, np.float32)) / np.array(self.std, np.float32)
        return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None], INPUT_TYPES[model_input.type])


def lay_out_tokens(tokens: np.ndarray, height: int, width: int, likely: int = 0) -> np.ndarray:
    """Lay patch tokens out as a map.

    Parameters
    ----------
    tokens
        (n_tokens, n_channels), row by row; up to eight tokens in front belong to no patch.
    height, width
        Sides of the network's input in pixels.
    likely
        Side of a patch in pixels, taken where it fits: a small input can be divided in several ways. 0: not known.

    Returns
    -------
    ndarray
        (n_channels, map_h, map_w).
    """
    even = [patch for patch in range(1, min(height, width) + 1) if not (height % patch or width % patch)]
    extra = {patch: len(tokens) - (height // patch) * (width // patch) for patch in even}
    fitting = [patch for patch in even if 0 <= extra[patch] <= MAX_EXTRA_TOKENS]
    if not fitting:
        raise BadInputError(
            f"{len(tokens)} tokens do not fill a grid of square patches of a {height} x {width} input; "
            "set size and multiple to the model's patches"
        )
    patch = likely if likely in fitting else min(fitting, key=lambda one: extra[one])
    n_extra = extra[patch]
    return tokens[n_extra:].T.reshape(-1, height // patch, width // patch)


def _is_map(output: Any) -> bool:
    """Whether an output is numbers of one image that can be pooled; others are passed over."""
    is_array = isinstance(output, np.ndarray) and output.dtype.kind in "fiub"
    return bool(is_array and output.ndim in (3, 4) and output.shape[0] == 1 and output.size)


def _check_sides(path: str, sides: Sequence[int]) -> None:
    if min(sides) < 1 or max(sides) > MAX_SIDE:
        raise BadInputError(
            f"{path}: expected an input of 1 to {MAX_SIDE} pixels a side, the model takes {sides[0]} x {sides[1]}; "
            "export it with other sides, or set multiple"
        )


def _shape_output(output: np.ndarray, sides: tuple[int, ...], patch: int) -> np.ndarray:
    values = output[0].astype(np.float32, copy=False)
    return values if values.ndim == 3 else lay_out_tokens(values, sides[0], sides[1], patch)


def open_model(path: str, device: str) -> Any:
    """Start onnxruntime on a user's model, whose files of weights are checked first."""
    list_weight_files(path)
    try:
        return make_session(path, device)
    except SegvoteError:
        raise
    except Exception as error:  # onnxruntime has no common error class
        raise BadInputError(f"{path}: onnxruntime cannot open the model: {get_first_line(error)}") from error


def _check_input(path: str, inputs: Sequence[Any]) -> None:
    if len(inputs) != 1 or not _is_image(inputs[0]):
        found = "; ".join(f"{each.name:.40} {each.shape} {each.type}" for each in inputs) or "none"
        raise BadInputError(f"{path}: expected one input (n, 3, height, width) of floats, the model takes {found}")
    n_images = inputs[0].shape[0]
    if isinstance(n_images, int) and n_images != 1:
        raise BadInputError(f"{path}: expected a batch of 1 or of any size, the model takes {n_images}")


def _is_image(one: Any) -> bool:
    return len(one.shape) == 4 and one.type in INPUT_TYPES and one.shape[1] in (3, "3")


def _find_multiple(path: str) -> int:
    """Take the stride of the first convolution if it cuts patches (7 and more), else the usual 32."""
    for node in read_onnx(path).graph.node:
        if node.op_type == "Conv":
            strides = [attribute.ints for attribute in node.attribute if attribute.name == "strides"]
            stride = int(strides[0][0]) if strides and strides[0] else 1
            return stride if 7 <= stride <= MAX_SIDE else USUAL_STRIDE
    return USUAL_STRIDE


def hash_model(path: str) -> str:
    """Hash the model and the files of weights beside it."""
    return hash_files([Path(path), *list_weight_files(path)])


def hash_files(files: Iterable[Path]) -> str:
    """SHA-256 of the contents of files, one after the other."""
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as opened:
            while block := opened.read(BLOCK):
                digest.update(block)
    return digest.hexdigest()


# Untrusted files -----------------------------------------------------------------------------------------------------


MAX_DEPTH = 60  # of messages within messages: a graph within a graph is four


def read_onnx(path: str) -> Any:
    """A network without the weights that lie in other files; an error is reported in one line."""
    import onnx

    try:
        return onnx.load(path, load_external_data=False)
    except Exception as error:  # protobuf and onnx raise many kinds on damaged bytes
        raise BadInputError(
            f"{path}: expected an ONNX model, the file is something else ({get_first_line(error)})"
        ) from error


def list_weight_files(path: str) -> list[Path]:
    """Files of weights, which a model names itself: refused where they lie elsewhere than beside or below it."""
    names = {
        entry.value
        for tensor in _walk_tensors(read_onnx(path))
        for entry in tensor.external_data
        if entry.key == "location"
    }
    files = [Path(path).parent / name for name in sorted(names)]
    folder = Path(path).resolve().parent
    for name, file in zip(sorted(names), files, strict=True):
        if not (file.resolve().is_relative_to(folder) and file.is_file() and ".." not in Path(name).parts):
            raise BadInputError(f"{path}: its weights {name!r:.80} are no file beside the model; do not trust it")
    return files


def _walk_tensors(message: Any, depth: int = 0) -> Iterator[Any]:
    """Every tensor of a model: weights, constants of nodes, those of graphs inside graphs and of functions."""
    if message.DESCRIPTOR.name == "TensorProto":
        yield message
        return
    if depth > MAX_DEPTH:
        raise BadInputError(f"expected a network, got graphs within graphs {MAX_DEPTH} deep; do not trust it")
    for field, value in message.ListFields():
        if field.message_type is not None:
            # A field is one message, or a sequence of them.
            for part in [value] if hasattr(value, "DESCRIPTOR") else value:
                yield from _walk_tensors(part, depth + 1)


def get_first_line(error: Exception) -> str:
    """What an error says, without the pages that some libraries add."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
