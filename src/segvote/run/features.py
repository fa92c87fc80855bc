"""Files of features: numbers of 16 bits where that loses nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from segvote.io.arrays import read_arrays, write_arrays


def write_features(path: Path, features: np.ndarray, matches: np.ndarray | None = None) -> None:
    """Write (n_segments, d) features; of a video, also which of them stands for each segment that did not vote."""
    with np.errstate(over="ignore"):
        halves = features.astype(np.float16)
    more = {} if matches is None else {"matches": matches}
    write_arrays(path, False, features=halves if np.array_equal(halves, features) else features, **more)


def read_features(path: Path) -> np.ndarray:
    """(n_segments, d) float32 features."""
    return read_arrays(path, ("features",))["features"].astype(np.float32, copy=False)


def read_matches(path: Path) -> np.ndarray:
    """(m,) segment that voted for each of a video that did not; empty for an image."""
    return read_arrays(path, ("matches",)).get("matches", np.zeros(0, np.int32))
