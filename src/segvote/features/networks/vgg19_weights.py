"""The sixteen convolutions of VGG-19 out of a user's file, whatever its format, with every shape checked."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from segvote.errors import BadInputError, DamagedFileError
from segvote.features.networks.torch_file import read_torch_file
from segvote.memory_budget import check_budget

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
