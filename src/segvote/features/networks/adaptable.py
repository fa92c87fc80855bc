"""Features of a network whose graph is written here, and whose weights may be replaced by adapted ones."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from typing import Any

import numpy as np

from segvote.features.networks.network import NetworkFeatures, make_session


class AdaptableFeatures(NetworkFeatures):
    """Features of a network that `segvote.features.networks.adapt` can fine-tune; its state are the new weights."""

    _weights: dict[str, np.ndarray] | None = None  # of the graph, by name, in the place of the usual ones
    _digest = ""  # of these

    @abstractmethod
    def build_network(self) -> bytes:
        """The network with its usual weights as a serialised ONNX model."""

    def prepare(self, image: np.ndarray) -> np.ndarray:
        """(1, 3, size, size) float32: an image (h, w, 3) uint8 as input of the network, square for batches."""
        return self._scale(image, self.size, self.size)

    def _open_model(self) -> Any:
        from segvote.features.networks.onnx_graph import replace_weights

        network = self.build_network()
        return make_session(replace_weights(network, self._weights) if self._weights else network, self.device)

    def _name_session(self) -> tuple[Any, ...]:
        return (*super()._name_session(), self._digest)

    def get_state(self) -> dict[str, np.ndarray]:
        return dict(self._weights or {})

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        self._weights = state or None
        self._digest = _hash_arrays(state) if state else ""


def _hash_arrays(arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()
