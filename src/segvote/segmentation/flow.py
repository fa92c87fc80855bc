"""Optical flow between neighbouring frames."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import cv2
import numpy as np

SMALLEST_SIDE = 32  # below this the flow's pyramid has no level to start from


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
