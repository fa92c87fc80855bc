"""Images at the size that an extractor works at."""

from __future__ import annotations

import cv2
import numpy as np


def choose_sides(height: int, width: int, size: int, multiple: int) -> tuple[int, int]:
    """Choose the input's sides: the longest about `size`, the aspect kept, each a multiple of `multiple`."""
    scale = size / max(height, width) / multiple
    return max(1, round(height * scale)) * multiple, max(1, round(width * scale)) * multiple


def resize_image(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """Resize an image; averages when it shrinks, so that fine patterns do not turn into false ones."""
    if image.shape[:2] == (height, width):
        return image
    shrinks = height * width < image.shape[0] * image.shape[1]
    return cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
