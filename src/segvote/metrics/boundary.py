"""Agreement of a mask with the truth within a tolerance in pixels: of outlines, and of pixels of thin objects.

A boundary pixel is a pixel of the object with a neighbour (up, down, left, right) that is background. The edge of the
image and the edge of an ignored region are no boundary. IoU of a thin object is near 0 for a shift by one pixel; these
figures are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # ndimage is loaded when used
from numpy.typing import ArrayLike, NDArray

from segvote.metrics.overlap import check_pair, split_truth

TOLERANCE = 2.0  # pixels, as usual for cracks
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], dtype=bool)


@dataclass(frozen=True)
class PixelAgreement:
    """Agreement of the pixels of a mask with those of the truth."""

    precision: float  # part of the mask's pixels near the truth
    recall: float  # part of the truth's pixels near the mask

    @property
    def f(self) -> float:
        """Harmonic mean of both; 0 where both are 0."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def measure_pixel_agreement(mask: ArrayLike, truth: ArrayLike, tolerance: float = TOLERANCE) -> PixelAgreement:
    """Measure which pixels of a mask have an object pixel of the truth nearby, and the other way round.

    Parameters
    ----------
    mask : (h, w) bool
        What was marked.
    truth : (h, w) uint8 or bool
        255 object, 128 ignore, 0 background. Ignored pixels count neither for nor against.
    tolerance : float
        Distance in pixels up to which two pixels agree.

    Returns
    -------
    PixelAgreement
        Both 1 where both are empty, both 0 where one of the two is.
    """
    mask, is_object, is_visible = check_pair(mask, truth)
    return _compare(mask & is_visible, is_object, tolerance)


def _compare(pixels: NDArray[np.bool_], wanted: NDArray[np.bool_], tolerance: float) -> PixelAgreement:
    if not pixels.any() or not wanted.any():
        agrees = float(pixels.any() == wanted.any())
        return PixelAgreement(agrees, agrees)
    return PixelAgreement(measure_nearby(pixels, wanted, tolerance), measure_nearby(wanted, pixels, tolerance))


def measure_nearby(pixels: NDArray[np.bool_], others: NDArray[np.bool_], tolerance: float) -> float:
    """Part of some pixels that lies within the tolerance of others."""
    distances = scipy.ndimage.distance_transform_edt(~others)
    return float(np.mean(distances[pixels] <= tolerance))


def find_boundary(inside: NDArray[np.bool_], outside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Pixels (h, w) bool of one region that touch the other; pixels in neither (ignored ones) make no boundary."""
    return inside & scipy.ndimage.binary_dilation(outside, CROSS)


def has_outline(truth: ArrayLike) -> bool:
    """Whether the outline of a truth is known: not where an ignored rim lies between all of the object and the rest."""
    is_object, is_visible = split_truth(truth)
    if find_boundary(is_object, ~is_object & is_visible).any():
        return True
    return not find_boundary(is_object, ~is_visible).any()


def measure_boundary_f(mask: ArrayLike, truth: ArrayLike, tolerance: float = TOLERANCE) -> float:
    """Harmonic mean of boundary precision and boundary recall, parameters as for `measure_pixel_agreement`.

    In [0, 1]; 1 if neither has a boundary, 0 if only one has.
    """
    mask, is_object, is_visible = check_pair(mask, truth)
    boundary = find_boundary(mask & is_visible, ~mask & is_visible)
    return _compare(boundary, find_boundary(is_object, ~is_object & is_visible), tolerance).f
