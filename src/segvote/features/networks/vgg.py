"""`vgg16` and `vgg19`, the paper's deep features: the last convolutions of three stages of a VGG, 1280 numbers.

The weights of `vgg16` are the package ``segvote-vgg16``. Those of `vgg19`, which the paper uses, are in no registry:
the user's file is read as torch wrote it or as safetensors, and every name and shape is checked. Layers follow
Simonyan, Zisserman, "Very deep convolutional networks for large-scale image recognition" (2015), configurations D, E.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from segvote.errors import BadInputError, DamagedFileError, MissingPartError
from segvote.features.networks.adaptable import AdaptableFeatures
from segvote.features.networks.devices import CPU, choose_device
from segvote.features.networks.network import hash_files
from segvote.features.networks.torch_file import read_torch_file
from segvote.features.networks.weights import find_weights
from segvote.features.pooling import check_pooling, choose_sides
from segvote.limits import check_budget

ENVIRONMENT = "SEGVOTE_VGG19"
CHANNELS = (64, 128, 256, 512, 512)  # of the five stages, between which maps are halved
REPEATS = {"vgg16": (2, 2, 3, 3, 3), "vgg19": (2, 2, 4, 4, 4)}  # convolutions of each stage
FIRST_MAP = 2  # the last convolution of this stage and of those behind it are kept; strides 4, 8, 16
STRIDE = 16  # of the coarsest map

Layer = tuple[np.ndarray, np.ndarray]  # kernel (out, in, 3, 3) and bias (out,)


class VggFeatures(AdaptableFeatures):
    """Maps of a VGG after the last convolution (with ReLU) of stages 3, 4 and 5, pooled over segments.

    Parameters
    ----------
    weights : str or Path or None
        The user's weight file: .pth or .pt, or .safetensors; None: the usual one, see `Vgg16Features` and
        `Vgg19Features`.
    size : int
        Longest side of the network's input in pixels, rounded to a multiple of 16.
    square : bool
        Both sides of the input are `size`, as in the paper; else the image keeps its aspect.
    pooling : str
        ``max``, as in the paper, or ``mean`` over the cells of a segment.
    device : str
        Where it runs: ``cpu``, ``cuda``, …
    """

    name: ClassVar[str]  # key of `REPEATS`
    blocks = CHANNELS[FIRST_MAP:]
    multiple = STRIDE
    options = ("size", "square", "pooling")

    def __init__(
        self,
        weights: str | Path | None = None,
        size: int = 224,
        square: bool = True,
        pooling: str = "max",
        device: str = CPU,
    ) -> None:
        if not STRIDE <= size <= 4096:
            raise BadInputError(f"expected a size from {STRIDE} to 4096 pixels for {self.name}, got {size}")
        self.weights = weights
        self.size, self.square, self.pooling = int(size), bool(square), check_pooling(pooling)
        self.device = choose_device(device)
        self._find_weights()  # a missing file is an error before any work

    def _find_weights(self) -> Path:
        raise NotImplementedError

    @property
    def path(self) -> str:  # type: ignore[override]
        """The weights on this machine, which may be another than the one that made the object."""
        return str(self._find_weights())

    def _name_model(self) -> dict[str, Any]:
        return {"name": self.name, "weights": hash_files([self.path])}

    def build_network(self) -> bytes:
        return build_vgg(self.name, read_vgg_weights(self.name, self.path))

    def _choose_sides(self, height: int, width: int) -> tuple[int, int]:
        return choose_sides(1, 1, self.size, STRIDE) if self.square else super()._choose_sides(height, width)


class Vgg16Features(VggFeatures):
    """Maps of VGG-16 after conv3-3, conv4-3 and conv5-3; the usual weights are the package ``segvote-vgg16``."""

    name = "vgg16"

    def _find_weights(self) -> Path:
        if self.weights is None:
            return find_weights(self.name)[0]
        if not Path(self.weights).is_file():
            raise MissingPartError(
                f"expected torchvision's vgg16 weights at {self.weights}, found no file; leave the option weights out "
                "to use the package segvote-vgg16"
            )
        return Path(self.weights)


class Vgg19Features(VggFeatures):
    """Maps of VGG-19 after conv3-4, conv4-4 and conv5-4; the usual weights are the file in ``SEGVOTE_VGG19``."""

    name = "vgg19"

    def _find_weights(self) -> Path:
        chosen = self.weights or os.environ.get(ENVIRONMENT)
        if chosen and Path(chosen).is_file():
            return Path(chosen)
        where = f"there is no file {chosen}" if chosen else "none was given"
        raise MissingPartError(
            f"features vgg19 need a weight file and {where}: get torchvision's vgg19 state dict "
            "(vgg19-dcbb9e9d.pth, 548 MB, from download.pytorch.org/models) and give its path "
            f"as the option weights or in the environment variable {ENVIRONMENT}; or use vgg16"
        )


def build_vgg(name: str, layers: list[Layer]) -> bytes:
    """A VGG up to its last convolution as a serialised ONNX model, from its convolutions in order.

    The input is ``image`` (1, 3, height, width); the outputs are (1, 256, h / 4, w / 4), (1, 512, h / 8, w / 8) and
    (1, 512, h / 16, w / 16).
    """
    from segvote.features.networks.onnx_graph import GraphBuilder

    graph, value, outputs, remaining = GraphBuilder(), "image", [], iter(layers)
    for stage, repeats in enumerate(REPEATS[name]):
        if stage > 0:
            value = graph.add("MaxPool", [value], kernel_shape=[2, 2], strides=[2, 2])
        for _ in range(repeats):
            value = graph.add("Relu", [graph.convolve(value, *next(remaining), pads=[1, 1, 1, 1])])
        if stage >= FIRST_MAP:
            outputs.append(value)
    return graph.build(outputs)


def list_vgg_shapes(name: str) -> dict[str, tuple[int, ...]]:
    """List torchvision's names of the convolutions (``features.0``, …) and the shapes of their kernels."""
    shapes: dict[str, tuple[int, ...]] = {}
    place, n_in = 0, 3
    for n_out, repeats in zip(CHANNELS, REPEATS[name], strict=True):
        for _ in range(repeats):
            shapes[f"features.{place}"] = (n_out, n_in, 3, 3)
            place, n_in = place + 2, n_out  # a ReLU follows each convolution
        place += 1  # and a pooling each stage
    return shapes


def read_vgg_weights(name: str, path: str | Path) -> list[Layer]:
    """Read the convolutions of a VGG, float32, from torchvision's .pth or .pt or from .safetensors."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".pth", ".pt", ".safetensors"):
        raise BadInputError(f"{path}: expected a weight file .pth, .pt or .safetensors; got {suffix or 'no ending'}")
    state = _read_safetensors(str(path)) if suffix == ".safetensors" else read_torch_file(path)
    where = f"{path}: expected torchvision's {name}"
    return [
        (_pick(where, state, f"{layer}.weight", shape), _pick(where, state, f"{layer}.bias", shape[:1]))
        for layer, shape in list_vgg_shapes(name).items()
    ]


def _read_safetensors(path: str) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    check_budget(Path(path).stat().st_size, path)
    try:
        return load_file(path)
    # KeyError and TypeError are for types that numpy lacks.
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedFileError(f"{path}: expected a safetensors file, but {error}; fetch it again") from error


def _pick(where: str, state: dict[str, np.ndarray], name: str, shape: tuple[int, ...]) -> np.ndarray:
    array = state.get(name)
    if array is None or array.shape != shape or array.dtype.kind not in "fiu":
        got = "nothing" if array is None else f"{array.shape} of {array.dtype}"
        raise BadInputError(f"{where} with {name} of shape {shape}, got {got}; one with _bn is another network")
    if not np.isfinite(array).all():
        raise DamagedFileError(f"{where} with finite numbers in {name}, found others; fetch the file again")
    return array.astype(np.float32)
