"""Features from a user's own ONNX backbone: DINOv2, CLIP, a ResNet, anything that gives maps or patch tokens.

Outputs (1, channels, height, width) are maps; outputs (1, tokens, channels) are laid out on the grid of patches, after
the class and register tokens in front are dropped; other outputs are ignored. Mean, deviation and size of the input are
not in the file; they are options.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from segvote.errors import BadInputError, SegvoteError
from segvote.features.networks.devices import CPU, choose_device
from segvote.features.networks.network import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    NetworkFeatures,
    hash_files,
    make_session,
)
from segvote.features.pooling import check_pooling

USUAL_STRIDE = 32  # of convolutional networks; the sides of their input should be multiples of it
MAX_EXTRA_TOKENS = 8  # a class token and up to seven registers
MAX_SIDE = 8192  # pixels of an input; more is a slip, or asks for more memory than there is
INPUT_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


class BackboneFeatures(NetworkFeatures):
    """Maps or patch tokens of an ONNX model, pooled over segments.

    Parameters
    ----------
    path : str or Path
        The model; its one input is an image (n, 3, height, width).
    size : int
        Longest side of the input in pixels. A model of fixed sides keeps its own.
    mean, std : sequence of float
        Red, green and blue in [0, 1] become (value - mean) / std.
    pooling : str
        ``mean`` or ``max`` over the cells of a segment.
    multiple : int or None
        Each side of the input is a multiple of this; by default the patch size if the model starts with patches, or 32.
    device : str
        Where it runs: ``cpu``, ``cuda``, …; see `segvote.features.networks.devices`.
    """

    options = ("size", "mean", "std", "pooling", "multiple")
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
        self._set_options(str(path), size, mean, std, pooling)
        self.multiple, self.device = multiple or _find_multiple(self.path), choose_device(device)

    def _set_options(self, path: str, size: int, mean: Sequence[float], std: Sequence[float], pooling: str) -> None:
        self.path, self.size, self.pooling = path, int(size), check_pooling(pooling)
        self.mean, self.std = tuple(map(float, mean)), tuple(map(float, std))
        if len(self.mean) != 3 or len(self.std) != 3 or min(self.std) <= 0:
            raise BadInputError(f"expected three means and three deviations above 0, got {self.mean} and {self.std}")
        if self.size < 1:
            raise BadInputError(f"expected a size of at least 1, got {self.size}")

    @property
    def blocks(self) -> tuple[int, ...]:  # type: ignore[override]
        """Channels of each map; the model is run on a grey image, because files often do not declare them."""
        if self._blocks is None:
            grey = np.full((self.size, self.size, 3), 127, np.uint8)
            self._blocks = tuple(len(cells) for cells in self.compute_maps(grey))
        return self._blocks

    def _name_model(self) -> dict[str, Any]:
        return {"name": "backbone", "model": hash_model(self.path)}

    def _open_model(self) -> Any:
        session = open_model(self.path, self.device)
        _check_input(self.path, session.get_inputs())
        return session

    def _choose_sides(self, height: int, width: int) -> tuple[int, int]:
        chosen, fixed = super()._choose_sides(height, width), self._get_session().get_inputs()[0].shape[2:]
        sides = [one if isinstance(one, int) else other for one, other in zip(fixed, chosen, strict=True)]
        if min(sides) < 1 or max(sides) > MAX_SIDE:
            raise BadInputError(
                f"{self.path}: expected an input of 1 to {MAX_SIDE} pixels a side, the model takes {sides[0]} x "
                f"{sides[1]}; export it with other sides, or set multiple"
            )
        return sides[0], sides[1]

    def compute_maps(self, image: np.ndarray) -> list[np.ndarray]:
        session, prepared = self._get_session(), self._prepare(image)
        advice = "try other values of size and multiple"
        with explain_errors(f"{self.path}: the model does not take an input of {prepared.shape}, {advice}"):
            outputs = self._run(session, prepared)
        maps = [output[0].astype(np.float32, copy=False) for output in outputs if _is_map(output)]
        if not maps:
            shapes = ", ".join(str(getattr(output, "shape", type(output).__name__)) for output in outputs)
            raise BadInputError(
                f"{self.path}: expected maps (1, channels, h, w) or tokens (1, n, channels), got {shapes}; "
                "export the model without its pooling and classifier"
            )
        height, width = prepared.shape[2:]
        return [one if one.ndim == 3 else lay_out_tokens(one, height, width, self.multiple) for one in maps]

    def _run(self, session: Any, prepared: np.ndarray) -> list[np.ndarray]:
        (taken,) = session.get_inputs()
        return session.run(None, {taken.name: prepared.astype(INPUT_TYPES[taken.type])})


def lay_out_tokens(tokens: np.ndarray, height: int, width: int, likely: int = 0) -> np.ndarray:
    """Lay patch tokens (n_tokens, n_channels) out as a map (n_channels, map_h, map_w).

    Tokens are in the order of rows; up to eight in front belong to no patch. `height` and `width` are the sides of the
    network's input in pixels, `likely` that of a patch, taken where it fits: a small input can be divided in several
    ways.
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
    return tokens[extra[patch] :].T.reshape(-1, height // patch, width // patch)


def _is_map(output: Any) -> bool:
    """Whether an output is numbers of one image that can be pooled."""
    is_array = isinstance(output, np.ndarray) and output.dtype.kind in "fiub"
    return bool(is_array and output.ndim in (3, 4) and output.shape[0] == 1 and output.size)


# Files from elsewhere ------------------------------------------------------------------------------------------------


def open_model(path: str, device: str) -> Any:
    """Start onnxruntime on a user's model, whose files of weights are checked first."""
    list_weight_files(path)
    with explain_errors(f"{path}: onnxruntime cannot open the model"):
        session = make_session(path, device)
        _ = [(one.name, one.shape) for one in session.get_inputs()]  # fails where names are no UTF-8
        return session


def _check_input(path: str, inputs: Sequence[Any]) -> None:
    shapes = "; ".join(f"{each.name:.40} {each.shape} {each.type}" for each in inputs) or "none"
    one = inputs[0] if len(inputs) == 1 else None
    if one is None or len(one.shape) != 4 or one.type not in INPUT_TYPES or one.shape[1] not in (3, "3"):
        raise BadInputError(f"{path}: expected one input (n, 3, height, width) of floats, the model takes {shapes}")
    if isinstance(one.shape[0], int) and one.shape[0] != 1:
        raise BadInputError(f"{path}: expected a batch of 1 or of any size, the model takes {shapes}")


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
    return hash_files([path, *list_weight_files(path)])


def read_onnx(path: str) -> Any:
    """Read a network without the weights that lie in other files."""
    import onnx

    with explain_errors(f"{path}: expected an ONNX model, the file is something else"):
        return onnx.load(path, load_external_data=False)


def list_weight_files(path: str) -> list[Path]:
    """Weight files that a model names; an error where one lies elsewhere than beside or below the model."""
    tensors = _walk_tensors(read_onnx(path))
    names = {entry.value for tensor in tensors for entry in tensor.external_data if entry.key == "location"}
    folder = Path(path).parent
    for name in sorted(names):
        file = folder / name
        is_inside = file.resolve().is_relative_to(folder.resolve()) and ".." not in Path(name).parts
        if not is_inside or not file.is_file():
            raise BadInputError(f"{path}: its weights {name!r:.80} are no file beside the model; do not trust it")
    return [folder / name for name in sorted(names)]


def _walk_tensors(message: Any) -> Iterator[Any]:
    """Every tensor of a model: weights, constants of nodes, those of graphs inside graphs and of functions."""
    if message.DESCRIPTOR.name == "TensorProto":
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            # A field is one message, or a sequence of them.
            for part in [value] if hasattr(value, "DESCRIPTOR") else value:
                yield from _walk_tensors(part)


@contextmanager
def explain_errors(message: str) -> Iterator[None]:
    """Raise an error of another library as a `BadInputError` of one line that starts with a message."""
    try:
        yield
    except SegvoteError:
        raise
    except Exception as error:  # onnx, onnxruntime, torch and transformers have no common class of errors
        first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise BadInputError(f"{message}: {first_line}") from error
