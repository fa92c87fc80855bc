"""Files of features, with three bytes for each number."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from segvote.errors import DamagedFileError
from segvote.io.arrays import read_arrays, write_arrays
from segvote.numerics.rounding import pack_numbers, unpack_numbers


def write_features(path: Path, features: np.ndarray, matches: np.ndarray | None = None) -> None:
    """Write rounded features (n_segments, d); of a video, also which of them stands for each segment without a vote."""
    more = {} if matches is None else {"matches": matches}
    write_arrays(path, False, features=pack_numbers(features), **more)


def read_features(path: Path) -> np.ndarray:
    """(n_segments, d) float32 features."""
    packed = read_arrays(path, ("features",)).get("features")
    if packed is None or packed.dtype != np.uint8 or packed.ndim != 3 or packed.shape[2] != 3:
        raise DamagedFileError(f"{path} holds no features as segvote writes them; delete it and run the command again")
    return unpack_numbers(packed)


def read_matches(path: Path) -> np.ndarray:
    """(m,) segment that voted for each of a video that did not; empty for an image."""
    return read_arrays(path, ("matches",)).get("matches", np.zeros(0, np.int32))
