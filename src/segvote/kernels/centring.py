"""Points about their mean in float32, without losing the digits in which they differ."""

from __future__ import annotations

import numpy as np


def centre_points(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Points about a centre in float32."""
    # Of float64 points the centre may be all but the last digits: it goes before they do. Float32 has no more to lose.
    kind = np.float32 if points.dtype == np.float32 else np.float64
    out = np.empty(points.shape, dtype=np.float32)
    return np.subtract(points, centre, out=out, dtype=kind, casting="same_kind")
