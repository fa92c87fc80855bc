"""Build ONNX models of plain image networks from arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper, load_model_from_string, numpy_helper

from segvote.errors import DamagedFileError

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

    def add(self, kind: str, sources: Sequence[str], **attributes: Any) -> str:
        """Add any node with one output."""
        name = f"value{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(sources), [name], **attributes))
        return name

    def store(self, array: np.ndarray | np.float32) -> str:
        """Add a constant array."""
        name = f"weight{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def build(self, outputs: Iterable[str]) -> bytes:
        """Serialise the graph with the input ``image`` (1, 3, height, width) and some of its values as outputs."""
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, "height", "width"])
        answers = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self._nodes, "segvote", [image], answers, self._weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        return model.SerializeToString()


def replace_weights(network: bytes, weights: Mapping[str, np.ndarray]) -> bytes:
    """A serialised model with other numbers in some of its constants, by their names; shapes stay."""
    model = load_model_from_string(network)
    known = {one.name: one for one in model.graph.initializer}
    for name, array in weights.items():
        shape = tuple(known[name].dims) if name in known else None
        if array.shape != shape or array.dtype != np.float32 or not np.isfinite(array).all():
            raise DamagedFileError(
                f"adapted weights {name!r:.40}: expected finite float32 of shape {shape}, got {array.dtype} of "
                f"{array.shape}; annotate again into another folder"
            )
        known[name].CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), name))
    return model.SerializeToString()
