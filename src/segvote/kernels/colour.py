"""Lab colours of an image, smoothed, and their gradient.

Lab is the space in which equal distances look equally different, so that means and squared distances make sense.
"""

from __future__ import annotations

import cv2
import numpy as np


def convert_to_lab(image: np.ndarray) -> np.ndarray:
    """(..., 3) float32 Lab of uint8 RGB, an image or a stack of frames: L in 0 .. 100, a and b about -127 .. 127."""
    rows = np.asarray(image, np.float32).reshape(1, -1, 3) / np.float32(255)
    return cv2.cvtColor(rows, cv2.COLOR_RGB2LAB).reshape(image.shape)


def smooth_colour(lab: np.ndarray, sigma: float) -> np.ndarray:
    """Gaussian of every channel: (h, w, channels) float32, sigma in pixels, 0 does nothing; the image is mirrored."""
    return cv2.GaussianBlur(lab, (0, 0), sigma, borderType=cv2.BORDER_REFLECT) if sigma > 0 else lab


def measure_gradient(colour: np.ndarray) -> np.ndarray:
    """(h, w) length of the gradient over all channels of (h, w, channels) float32, smoothed before; per pixel."""
    step = np.array([[-0.5, 0, 0.5]], np.float32)
    across = cv2.filter2D(colour, -1, step, borderType=cv2.BORDER_REPLICATE)
    down = cv2.filter2D(colour, -1, step.T.copy(), borderType=cv2.BORDER_REPLICATE)
    # Whole channels are added up: a sum over an axis of three numbers takes five times as long.
    return np.sqrt(sum(cv2.split(across**2 + down**2)))
