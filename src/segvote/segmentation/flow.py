"""Optical flow between neighbouring frames, and what is left of it when the camera's own motion is taken out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import cv2
import numpy as np

SMALLEST_SIDE = 32  # below this the flow's pyramid has no level to start from
GRID_STEP = 8
N_ROUNDS = 5
MIN_SPREAD = 0.1  # pixels: a camera on a tripod leaves residuals of zero, which must not become the unit


def measure_flow(image: np.ndarray, before: np.ndarray) -> np.ndarray:
    """(h, w, 2) float32: where each pixel was in the frame before, x and y in pixels (DIS flow, Kroeger 2016).

    Frames (h, w, 3) uint8 RGB; zero for those too small to have a flow.
    """
    if min(image.shape[:2]) < SMALLEST_SIDE:
        return np.zeros((*image.shape[:2], 2), np.float32)
    grey, grey_before = (cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY) for frame in (image, before))
    with _one_thread():
        return cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST).calc(grey, grey_before, None)  # type: ignore[call-overload]


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    # The flow hands its guesses on within the stripe of a thread: more threads would give another answer.
    n_threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(n_threads)


def remove_camera(flow: np.ndarray) -> np.ndarray:
    """Flow (h, w, 2) less the camera's, the affine motion that most of the frame follows (outliers count little)."""
    height, width = flow.shape[:2]
    rows, columns = np.mgrid[:height:GRID_STEP, :width:GRID_STEP]
    places = _make_terms(rows.ravel(), columns.ravel(), height, width)
    model = _fit_robustly(places, flow[rows, columns].reshape(-1, 2))
    y, x = np.mgrid[:height, :width]
    camera = _make_terms(y.ravel(), x.ravel(), height, width) @ model
    return (flow - camera.reshape(flow.shape)).astype(np.float32)


def _make_terms(rows: np.ndarray, columns: np.ndarray, height: int, width: int) -> np.ndarray:
    return np.stack([np.ones(len(rows)), (columns - width / 2) / width, (rows - height / 2) / width], axis=1)


def _fit_robustly(places: np.ndarray, flow: np.ndarray) -> np.ndarray:
    """(3, 2) affine model by re-weighted least squares with Cauchy weights."""
    weights = np.ones(len(places))
    for _ in range(N_ROUNDS):
        root = np.sqrt(weights)[:, None]
        model = np.linalg.lstsq(places * root, flow * root, rcond=None)[0]
        residuals = np.linalg.norm(flow - places @ model, axis=1)
        weights = 1 / (1 + (residuals / max(float(np.median(residuals)), MIN_SPREAD)) ** 2)
    return model
