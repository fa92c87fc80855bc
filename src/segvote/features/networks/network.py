"""The frame of all features that a network computes: prepare the image, run the maps, pool them over segments.

A subclass says which model and how an image is prepared; this class holds the session of onnxruntime (made when first
needed, left behind when the object is copied to another process) and the pooling.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import Any

import numpy as np

from segvote.errors import MissingPartError
from segvote.features.base import FeatureExtractor, check_inputs
from segvote.features.networks.devices import CPU, INSTALL, PROVIDERS
from segvote.features.pooling import make_edges, measure_overlaps, pool

# One session per model and process, for inputs of any size: a pool copies the extractor with every task, its network
# need not be built anew.
_SESSIONS: dict[str, Any] = {}


class NetworkFeatures(FeatureExtractor):
    """Features from the maps of a convolutional network or a vision transformer.

    Attributes
    ----------
    pooling
        How the cells of a segment become one vector.
    cell_shift
        How far a cell's content lies behind its place in the map, in cells; uneven padding makes such shifts.
    """

    pooling: str
    cell_shift: float = 0.0
    device: str = CPU
    _session: Any = None

    def name_device(self) -> dict[str, str]:
        """For the key: another device than the CPU gives other digits."""
        return {} if self.device == CPU else {"device": self.device}

    @abstractmethod
    def _name_model(self) -> dict[str, Any]:
        """Return what tells the model from others; the size of its input does not."""

    @abstractmethod
    def _load_model(self) -> bytes | str:
        """Return the serialised ONNX model, or its path; its first input is the image."""

    @abstractmethod
    def _prepare(self, image: np.ndarray) -> np.ndarray:
        """Turn a uint8 image into the network's input (1, 3, height, width) float32."""

    def compute_maps(self, image: np.ndarray) -> list[np.ndarray]:
        """Run the network on one (H, W, 3) uint8 image; returns one (n_channels, map_h, map_w) per output."""
        session = self._get_session()
        outputs = session.run(None, {session.get_inputs()[0].name: self._prepare(image)})
        return [output[0] for output in outputs]

    def extract(self, image: np.ndarray, labels: np.ndarray) -> np.ndarray:
        check_inputs(image, labels)
        return np.hstack([self._pool(cells, labels) for cells in self.compute_maps(image)])

    def _pool(self, cells: np.ndarray, labels: np.ndarray) -> np.ndarray:
        n_channels, height, width = cells.shape
        overlaps = measure_overlaps(labels, make_edges(height, self.cell_shift), make_edges(width, self.cell_shift))
        return pool(cells.reshape(n_channels, -1).T, overlaps, self.pooling)

    def _get_session(self) -> Any:
        if self._session is None:
            key = json.dumps({**self._name_model(), **self.name_device()}, sort_keys=True)
            if key not in _SESSIONS:
                _SESSIONS[key] = make_session(self._load_model(), self.device)
            self._session = _SESSIONS[key]
        return self._session

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_session"}


def make_session(model: bytes | str, device: str = CPU) -> Any:
    """Start onnxruntime on a model or its path, on one thread: the pipeline works on several images at once instead."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 3
    # Falling back, from one processor to the same, would only print a banner for each model that cannot be opened.
    wanted = PROVIDERS[device]
    providers = list(dict.fromkeys([wanted, PROVIDERS[CPU]]))  # what a device cannot compute, the CPU does
    session = onnxruntime.InferenceSession(model, options, providers=providers, enable_fallback=0)
    if session.get_providers()[0] != wanted:  # onnxruntime goes on without a driver, and says so on stderr only
        raise MissingPartError(f"onnxruntime could not start the device {device}: is its driver installed? {INSTALL}")
    return session
