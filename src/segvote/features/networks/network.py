"""Features that a network computes: scale the image, run the network, pool its maps over segments."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from segvote.errors import MissingPartError
from segvote.features.base import FeatureExtractor
from segvote.features.networks.devices import CPU, INSTALL, PROVIDERS
from segvote.features.pooling import POOLINGS, choose_sides, make_edges, measure_overlaps, resize_image

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
BLOCK = 1 << 24  # bytes that are hashed at a time
# One session per model, device and process: a pool copies the extractor with every task.
_SESSIONS: dict[tuple[Any, ...], Any] = {}


class NetworkFeatures(FeatureExtractor):
    """Features from the maps of a convolutional network or a vision transformer."""

    path: str  # of the model or its weights
    size: int  # longest side of the input in pixels
    multiple: int  # each side of the input is a multiple of this
    # Red, green and blue become (value / divisor - mean) / std.
    divisor: float = 255
    mean: tuple[float, ...] = IMAGENET_MEAN
    std: tuple[float, ...] = IMAGENET_STD
    pooling: str  # mean or max over the cells of a segment
    # Shift of a cell's content against its place in the map, in cells; uneven padding makes such shifts.
    cell_shift: float = 0.0
    device: str = CPU
    options: tuple[str, ...]  # attributes that are part of the key

    def get_key(self) -> dict[str, Any]:
        # Another device than the CPU gives other digits.
        device = {} if self.device == CPU else {"device": self.device}
        return {**self._name_model(), **{name: getattr(self, name) for name in self.options}, **device}

    @abstractmethod
    def _name_model(self) -> dict[str, Any]:
        """Name of the features and hash of the weights, for the key."""

    @abstractmethod
    def _open_model(self) -> Any:
        """Start the session of the network: an `onnxruntime.InferenceSession`, or the object that `_run` takes."""

    def _get_session(self) -> Any:
        key = self._name_session()
        if key not in _SESSIONS:
            _SESSIONS[key] = self._open_model()
        return _SESSIONS[key]

    def _name_session(self) -> tuple[Any, ...]:
        """All that a session depends on."""
        return (type(self).__name__, self.device, *_name_content(self.path))

    def _choose_sides(self, height: int, width: int) -> tuple[int, int]:
        """Sides of the network's input."""
        return choose_sides(height, width, self.size, self.multiple)

    def _prepare(self, image: np.ndarray) -> np.ndarray:
        """(1, 3, height, width) float32: the network's input."""
        return self._scale(image, *self._choose_sides(*image.shape[:2]))

    def _scale(self, image: np.ndarray, height: int, width: int) -> np.ndarray:
        """(1, 3, height, width) float32."""
        resized = resize_image(image, height, width).astype(np.float32)
        scaled = (resized / self.divisor - np.array(self.mean, np.float32)) / np.array(self.std, np.float32)
        return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None])

    def compute_maps(self, image: np.ndarray) -> list[np.ndarray]:
        """Run the network on one (H, W, 3) uint8 image; returns one (n_channels, map_h, map_w) per output."""
        session = self._get_session()
        outputs = session.run(None, {session.get_inputs()[0].name: self._prepare(image)})
        return [output[0] for output in outputs]

    def extract(self, image: np.ndarray, labels: np.ndarray) -> np.ndarray:
        pooled = []
        for cells in self.compute_maps(image):
            edges = (make_edges(n_cells, self.cell_shift) for n_cells in cells.shape[1:])
            pooled.append(POOLINGS[self.pooling](cells.reshape(len(cells), -1).T, measure_overlaps(labels, *edges)))
        return np.hstack(pooled)


def make_session(model: bytes | str, device: str = CPU) -> Any:
    """Start onnxruntime on a model or its path, on one thread: the pipeline works on several images at once instead."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 3
    # Falling back, from one processor to the same, would only print a banner for each model that cannot be opened.
    wanted = PROVIDERS[device]
    providers = list(dict.fromkeys([wanted, PROVIDERS[CPU]]))  # the CPU computes what a device cannot
    session = onnxruntime.InferenceSession(model, options, providers=providers, enable_fallback=0)
    if session.get_providers()[0] != wanted:  # without a driver onnxruntime continues, with a warning on stderr
        raise MissingPartError(f"onnxruntime could not start the device {device}: is its driver installed? {INSTALL}")
    return session


def hash_files(files: Iterable[str | Path]) -> str:
    """SHA-256 of the contents of files, one after the other; read again only where a file has changed."""
    return _hash_contents(*map(_name_content, files))


def _name_content(path: str | Path) -> tuple[str, int, int]:
    status = Path(path).stat()
    return str(path), status.st_mtime_ns, status.st_size


@lru_cache(maxsize=16)
def _hash_contents(*files: tuple[str, int, int]) -> str:
    digest = hashlib.sha256()
    for path, *_ in files:
        with open(path, "rb") as opened:
            while block := opened.read(BLOCK):
                digest.update(block)
    return digest.hexdigest()
