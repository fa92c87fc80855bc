"""`vgg19`, the paper's deep features: conv3-4, conv4-4 and conv5-4 of VGG-19, 1280 numbers.

The weights are half a gigabyte and not ours to ship; the user's file is read as torch wrote it or as safetensors, and
every name and shape is checked. Layers follow Simonyan, Zisserman, "Very deep convolutional networks for
large-scale image recognition" (2015), configuration E.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from segvote.errors import BadInputError, DamagedFileError, MissingPartError
from segvote.features.networks.devices import CPU, choose_device
from segvote.features.networks.network import NetworkFeatures
from segvote.features.networks.torch_file import read_torch_file
from segvote.features.pooling import check_pooling, choose_sides, resize_image
from segvote.memory_budget import check_budget

ENVIRONMENT = "SEGVOTE_VGG19"
MAPS = {2: 256, 3: 512, 4: 512}  # the stages whose last convolution is kept, and its channels; strides 4, 8, 16
STRIDE = 16  # of the coarsest map
MEAN = np.array([0.485, 0.456, 0.406], np.float32)  # of ImageNet in [0, 1]
STD = np.array([0.229, 0.224, 0.225], np.float32)


class Vgg19Features(NetworkFeatures):
    """Maps of VGG-19 after conv3-4, conv4-4 and conv5-4 (with ReLU), pooled over segments.

    Parameters
    ----------
    weights
        The user's weight file: .pth or .pt, or .safetensors. Without it the path in the environment variable
        ``SEGVOTE_VGG19`` is taken.
    size
        Longest side of the network's input in pixels, rounded to a multiple of 16.
    square
        Both sides of the input are `size`, as in the paper; else the image keeps its aspect.
    pooling
        ``max``, as in the paper, or ``mean`` over the cells of a segment.
    device
        Where it runs: ``cpu``, ``cuda``, …
    """

    blocks = tuple(MAPS.values())
    standardise = True

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

    def get_key(self) -> dict[str, Any]:
        options = {"size": self.size, "square": self.square, "pooling": self.pooling}
        return {**self._name_model(), **options, **self.name_device()}

    def _name_model(self) -> dict[str, Any]:
        return {"name": "vgg19", "weights": _hash_file(self.path)}

    def _load_model(self) -> bytes:
        return build_vgg19(read_vgg19_weights(self.path))

    def _prepare(self, image: np.ndarray) -> np.ndarray:
        height, width = (1, 1) if self.square else image.shape[:2]
        resized = resize_image(image, *choose_sides(height, width, self.size, STRIDE)).astype(np.float32)
        return np.ascontiguousarray(((resized / 255 - MEAN) / STD).transpose(2, 0, 1)[None])


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


@cache
def _hash_file(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def build_vgg19(layers: list[tuple[np.ndarray, np.ndarray]]) -> bytes:
    """Write VGG-19 up to conv5-4 as an ONNX model with the input ``image`` (1, 3, height, width).

    Parameters
    ----------
    layers
        Kernel and bias of the sixteen convolutions in order.

    Returns
    -------
    bytes
        The serialised model; outputs (1, 256, h / 4, w / 4), (1, 512, h / 8, w / 8), (1, 512, h / 16, w / 16).
    """
    from segvote.features.networks.onnx_graph import GraphBuilder

    graph, value, outputs, remaining = GraphBuilder(), "image", {}, iter(layers)
    for stage, (_, repeats) in enumerate(STAGES):
        if stage > 0:
            value = graph.add("MaxPool", [value], kernel_shape=[2, 2], strides=[2, 2])
        for _ in range(repeats):
            value = graph.add("Relu", [graph.convolve(value, *next(remaining), pads=[1, 1, 1, 1])])
        if stage in MAPS:
            outputs[value] = (1, MAPS[stage], f"h{stage}", f"w{stage}")
    return graph.build(outputs)


# Weights -------------------------------------------------------------------------------------------------------------


STAGES = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))  # channels and convolutions between two poolings

Layer = tuple[np.ndarray, np.ndarray]  # kernel (out, in, 3, 3) and bias (out,)


def list_vgg19_shapes() -> dict[str, tuple[int, ...]]:
    """List torchvision's names of the convolutions (``features.0``, …) and the shapes of their kernels."""
    shapes: dict[str, tuple[int, ...]] = {}
    place, n_in = 0, 3
    for n_out, repeats in STAGES:
        for _ in range(repeats):
            shapes[f"features.{place}"] = (n_out, n_in, 3, 3)
            place, n_in = place + 2, n_out  # a convolution and its ReLU
        place += 1  # the pooling
    return shapes


def read_vgg19_weights(path: str | Path) -> list[Layer]:
    """Read the convolutions of VGG-19.

    Parameters
    ----------
    path
        torchvision's state dictionary as .pth, .pt or .safetensors.

    Returns
    -------
    list
        Kernel (out, in, 3, 3) and bias (out,) of the sixteen convolutions in order, float32.
    """
    readers = {".pth": _read_torch, ".pt": _read_torch, ".safetensors": _read_safetensors}
    suffix = Path(path).suffix.lower()
    if suffix not in readers:
        raise BadInputError(f"{path}: expected a weight file out of {', '.join(readers)}; got {suffix or 'no ending'}")
    layers = readers[suffix](str(path))
    for (name, shape), (kernel, bias) in zip(list_vgg19_shapes().items(), layers, strict=True):
        _check_shape(path, f"{name}.weight", kernel, shape)
        _check_shape(path, f"{name}.bias", bias, shape[:1])
    return [(kernel.astype(np.float32), bias.astype(np.float32)) for kernel, bias in layers]


def _check_shape(path: str | Path, name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    if array.dtype.kind not in "fiu":
        raise BadInputError(f"{path}: expected numbers in {name}, got {array.dtype}; this is not VGG-19")
    if array.shape != shape:
        raise BadInputError(f"{path}: expected {name} of shape {shape}, got {array.shape}; this is not VGG-19")
    if not np.isfinite(array).all():
        raise DamagedFileError(f"{path}: expected finite numbers in {name}, found others; fetch the file again")


def _read_torch(path: str) -> list[Layer]:
    return _pick_layers(path, read_torch_file(path))


def _read_safetensors(path: str) -> list[Layer]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    check_budget(Path(path).stat().st_size, path)
    try:
        state = load_file(path)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:  # of kinds that numpy does not know
        raise DamagedFileError(f"{path}: expected a safetensors file, but {error}; fetch it again") from error
    return _pick_layers(path, state)


def _pick_layers(path: str, state: dict[str, np.ndarray]) -> list[Layer]:
    """Take torchvision's names, with whatever stands before all of them (``module.`` of parallel training)."""
    names = list_vgg19_shapes()
    prefixes = [name.removesuffix("features.0.weight") for name in state if name.endswith("features.0.weight")]
    prefix = prefixes[0] if prefixes else ""
    for name in (f"{prefix}{layer}.{part}" for layer in names for part in ("weight", "bias")):
        if name not in state:
            found = ", ".join(list(state)[:3]) or "nothing"
            raise BadInputError(
                f"{path}: expected torchvision's vgg19 with {name}, found {found} …; vgg19_bn is another network"
            )
    return [(state[f"{prefix}{layer}.weight"], state[f"{prefix}{layer}.bias"]) for layer in names]
