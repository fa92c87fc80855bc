"""Functions of pixels that several packages share: Lab colours, smoothing, gradients; label maps at another size.

Lab is the space in which equal distances look equally different, so that means and squared distances make sense.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import ArrayLike


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


def resize_labels(labels: ArrayLike, size: tuple[int, int]) -> np.ndarray:
    """Label maps or masks (..., h, w) scaled to (..., *size): each pixel takes the value under its centre."""
    # OpenCV's INTER_NEAREST samples corners and shifts the map by half a pixel; the exact variant samples centres, but
    # only of some types on some builds, so the rows and columns are picked here.
    labels = np.asarray(labels)
    # Whole numbers only: rounding of floats would differ between sizes that should give mirrored results.
    sides = zip(labels.shape[-2:], size, strict=True)
    rows, columns = ((2 * np.arange(new) + 1) * old // (2 * new) for old, new in sides)
    # One side after the other: picking both at once takes five times as long.
    return labels.take(columns, axis=-1).take(rows, axis=-2)
