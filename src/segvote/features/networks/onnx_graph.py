"""Build small ONNX graphs of convolutions from arrays.

Just what plain image networks need: a builder that names values itself and gives back the serialised model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET = 13
IR_VERSION = 8  # old enough for every onnxruntime that is still installed


class GraphBuilder:
    """Collects nodes; each method adds one and returns the name of its output."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._weights: list[Any] = []

    def convolve(self, source: str, weight: np.ndarray, bias: np.ndarray, **attributes: Any) -> str:
        """Add a convolution; `weight` is (out, in / groups, height, width)."""
        return self.add("Conv", [source, self.store(weight), self.store(bias)], **attributes)

    def clip(self, source: str, low: float, high: float) -> str:
        """Add a clip; ``clip(x, 0, 6)`` is ReLU6."""
        return self.add("Clip", [source, self.store(np.float32(low)), self.store(np.float32(high))])

    def add(self, kind: str, sources: Sequence[str], output: str | None = None, **attributes: Any) -> str:
        """Add any node with one output."""
        name = output or f"value{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(sources), [name], **attributes))
        return name

    def store(self, array: np.ndarray | np.float32) -> str:
        """Add a constant array."""
        name = f"weight{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def build(self, outputs: Mapping[str, Sequence[int | str]]) -> bytes:
        """Serialise the graph with the input ``image`` (1, 3, height, width) and these outputs (name to shape)."""
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, "height", "width"])
        answers = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()]
        graph = helper.make_graph(self._nodes, "segvote", [image], answers, self._weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        return model.SerializeToString()
