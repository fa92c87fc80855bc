"""Agreement of a mask with the truth within a tolerance in pixels: of outlines, and of pixels of thin objects.

A boundary pixel is a pixel of the object with a neighbour (up, down, left, right) that is background. The image's edge
is no boundary, for an object that leaves the picture has no outline there; nor is the edge of an ignored region.
IoU punishes a crack drawn a pixel beside the truth as much as a crack that is not there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # ndimage is loaded when used
from numpy.typing import ArrayLike, NDArray

from segvote.errors import BadInputError
from segvote.metrics.overlap import split_truth

TOLERANCE = 2.0  # pixels, as usual for cracks
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], dtype=bool)


@dataclass(frozen=True)
class PixelAgreement:
    """How many pixels of a mask lie at the truth, and of the truth at the mask."""

    precision: float
    recall: float

    @property
    def f(self) -> float:
        """Harmonic mean of both; 0 where both are 0."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def measure_pixel_agreement(mask: ArrayLike, truth: ArrayLike, tolerance: float = TOLERANCE) -> PixelAgreement:
    """Measure which pixels of a mask have an object pixel of the truth nearby, and the other way round.

    Parameters
    ----------
    mask : array_like
        (h, w) bool.
    truth : array_like
        (h, w) 255 object, 128 ignore, 0 background, or bool. Ignored pixels count neither for nor against.
    tolerance : float
        Distance in pixels up to which two pixels agree.

    Returns
    -------
    PixelAgreement
        Both 1 where nothing was to be found and nothing was found, both 0 where only one of the two is empty.
    """
    mask, is_object, is_visible = _check_pair(mask, truth)
    return _compare(mask & is_visible, is_object, tolerance)


def _check_pair(mask: ArrayLike, truth: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Mask, object pixels and visible pixels of the truth, (h, w) bool each."""
    mask, (is_object, is_visible) = np.asarray(mask, dtype=bool), split_truth(truth)
    if mask.ndim != 2 or mask.shape != is_object.shape:
        raise BadInputError(f"mask and truth must be images of one size, got {mask.shape} and {is_object.shape}")
    return mask, is_object, is_visible


def _compare(found: NDArray[np.bool_], wanted: NDArray[np.bool_], tolerance: float) -> PixelAgreement:
    if not found.any() or not wanted.any():
        agrees = float(found.any() == wanted.any())
        return PixelAgreement(agrees, agrees)
    return PixelAgreement(measure_nearby(found, wanted, tolerance), measure_nearby(wanted, found, tolerance))


def measure_nearby(pixels: NDArray[np.bool_], others: NDArray[np.bool_], tolerance: float) -> float:
    """Measure which part of some pixels lies within the tolerance of others."""
    distances = scipy.ndimage.distance_transform_edt(~others)
    return float(np.mean(distances[pixels] <= tolerance))


def find_boundary(inside: NDArray[np.bool_], outside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Find the pixels of one region that touch the other, up, down, left or right.

    Parameters
    ----------
    inside, outside
        (h, w) bool; pixels in neither (ignored ones) make no boundary.
    """
    return inside & scipy.ndimage.binary_dilation(outside, CROSS)


def has_outline(truth: ArrayLike) -> bool:
    """Whether the outline of a truth is known: not where an ignored rim lies between all of the object and the rest.

    Parameters
    ----------
    truth : array_like
        (h, w) 255 object, 128 ignore, 0 background, or bool.
    """
    is_object, is_visible = split_truth(truth)
    if find_boundary(is_object, ~is_object & is_visible).any():
        return True
    return not find_boundary(is_object, ~is_visible).any()


def measure_boundary_f(mask: ArrayLike, truth: ArrayLike, tolerance: float = 2.0) -> float:
    """Harmonic mean of boundary precision and boundary recall.

    Parameters
    ----------
    mask
        (h, w) bool.
    truth
        (h, w) 255 object, 128 ignore, 0 background, or bool.
    tolerance
        Distance in pixels up to which two boundary pixels agree.

    Returns
    -------
    float
        In [0, 1]; 1 if neither has a boundary, 0 if only one has.
    """
    mask, is_object, is_visible = _check_pair(mask, truth)
    found = find_boundary(mask & is_visible, ~mask & is_visible)
    return _compare(found, find_boundary(is_object, ~is_object & is_visible), tolerance).f
