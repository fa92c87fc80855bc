"""`vgg19`, the paper's deep features: conv3-4, conv4-4 and conv5-4 of VGG-19, 1280 numbers.

The weights are half a gigabyte and not ours to ship; the user's file is read as torch wrote it or as safetensors, and
every name and shape is checked. Layers follow Simonyan, Zisserman, "Very deep convolutional networks for
large-scale image recognition" (2015), configuration E.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from segvote.errors import BadInputError, DamagedFileError, MissingPartError
from segvote.features.networks.devices import CPU, choose_device
from segvote.features.networks.network import NetworkFeatures, hash_files, make_session
from segvote.features.networks.torch_file import read_torch_file
from segvote.features.pooling import check_pooling, choose_sides
from segvote.memory_budget import check_budget

ENVIRONMENT = "SEGVOTE_VGG19"
STAGES = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))  # channels and convolutions between two poolings
PLACES = (0, 2, 5, 7, 10, 12, 14, 16, 19, 21, 23, 25, 28, 30, 32, 34)  # of the convolutions in torchvision's list
FIRST_MAP = 2  # the last convolution of this stage and of those behind it are kept; strides 4, 8, 16
STRIDE = 16  # of the coarsest map

Layer = tuple[np.ndarray, np.ndarray]  # kernel (out, in, 3, 3) and bias (out,)


class Vgg19Features(NetworkFeatures):
    """Maps of VGG-19 after conv3-4, conv4-4 and conv5-4 (with ReLU), pooled over segments.

    Parameters
    ----------
    weights : str or Path or None
        The user's weight file: .pth or .pt, or .safetensors. Without it the path in the environment variable
        ``SEGVOTE_VGG19`` is taken.
    size : int
        Longest side of the network's input in pixels, rounded to a multiple of 16.
    square : bool
        Both sides of the input are `size`, as in the paper; else the image keeps its aspect.
    pooling : str
        ``max``, as in the paper, or ``mean`` over the cells of a segment.
    device : str
        Where it runs: ``cpu``, ``cuda``, …
    """

    blocks = tuple(n_channels for n_channels, _ in STAGES[FIRST_MAP:])
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
            raise BadInputError(f"expected a size from {STRIDE} to 4096 pixels for vgg19, got {size}")
        self.path = str(find_vgg19_weights(weights))
        self.size, self.square, self.pooling = int(size), bool(square), check_pooling(pooling)
        self.device = choose_device(device)

    def _name_model(self) -> dict[str, Any]:
        return {"name": "vgg19", "weights": hash_files([self.path])}

    def _open_model(self) -> Any:
        return make_session(build_vgg19(read_vgg19_weights(self.path)), self.device)

    def _choose_sides(self, height: int, width: int) -> tuple[int, int]:
        return choose_sides(1, 1, self.size, STRIDE) if self.square else super()._choose_sides(height, width)


def find_vgg19_weights(path: str | Path | None = None) -> Path:
    """Find the user's weight file: the given path, or the one in the environment variable ``SEGVOTE_VGG19``."""
    chosen = path or os.environ.get(ENVIRONMENT)
    if chosen and Path(chosen).is_file():
        return Path(chosen)
    where = f"there is no file {chosen}" if chosen else "none was given"
    raise MissingPartError(
        f"features vgg19 need a weight file and {where}: get torchvision's vgg19 state dict "
        "(vgg19-dcbb9e9d.pth, 548 MB, from download.pytorch.org/models) and give its path "
        f"as the option weights or in the environment variable {ENVIRONMENT}"
    )


def build_vgg19(layers: list[Layer]) -> bytes:
    """VGG-19 up to conv5-4 as a serialised ONNX model, from its sixteen convolutions in order.

    The input is ``image`` (1, 3, height, width); the outputs are (1, 256, h / 4, w / 4), (1, 512, h / 8, w / 8) and
    (1, 512, h / 16, w / 16).
    """
    from segvote.features.networks.onnx_graph import GraphBuilder

    graph, value, outputs, remaining = GraphBuilder(), "image", [], iter(layers)
    for stage, (_, repeats) in enumerate(STAGES):
        if stage > 0:
            value = graph.add("MaxPool", [value], kernel_shape=[2, 2], strides=[2, 2])
        for _ in range(repeats):
            value = graph.add("Relu", [graph.convolve(value, *next(remaining), pads=[1, 1, 1, 1])])
        if stage >= FIRST_MAP:
            outputs.append(value)
    return graph.build(outputs)


def list_vgg19_shapes() -> dict[str, tuple[int, ...]]:
    """List torchvision's names of the convolutions (``features.0``, …) and the shapes of their kernels."""
    n_channels = [3, *(n_out for n_out, repeats in STAGES for _ in range(repeats))]
    layers = zip(PLACES, n_channels[1:], n_channels[:-1], strict=True)
    return {f"features.{place}": (n_out, n_in, 3, 3) for place, n_out, n_in in layers}


def read_vgg19_weights(path: str | Path) -> list[Layer]:
    """Read the sixteen convolutions of VGG-19, float32, from torchvision's .pth or .pt or from .safetensors."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".pth", ".pt", ".safetensors"):
        raise BadInputError(f"{path}: expected a weight file .pth, .pt or .safetensors; got {suffix or 'no ending'}")
    state = _read_safetensors(str(path)) if suffix == ".safetensors" else read_torch_file(path)
    return [
        (_pick(path, state, f"{name}.weight", shape), _pick(path, state, f"{name}.bias", shape[:1]))
        for name, shape in list_vgg19_shapes().items()
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


def _pick(path: str | Path, state: dict[str, np.ndarray], name: str, shape: tuple[int, ...]) -> np.ndarray:
    array = state.get(name)
    if array is None or array.shape != shape or array.dtype.kind not in "fiu":
        found = "nothing" if array is None else f"{array.shape} of {array.dtype}"
        raise BadInputError(
            f"{path}: expected torchvision's vgg19 with {name} of shape {shape}, got {found}; vgg19_bn is "
            "another network"
        )
    if not np.isfinite(array).all():
        raise DamagedFileError(f"{path}: expected finite numbers in {name}, found others; fetch the file again")
    return array.astype(np.float32)
