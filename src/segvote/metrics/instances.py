"""Single objects found: instances of a mask matched with connected parts of the truth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy  # ndimage is loaded when used
from numpy.typing import ArrayLike

from segvote.errors import BadInputError
from segvote.metrics.overlap import check_pair

# From one half on an overlap can belong to one pair only, so that no assignment has to be chosen.
INSTANCE_THRESHOLD = 0.5
EIGHT_NEIGHBOURS = np.ones((3, 3), dtype=bool)


@dataclass(frozen=True)
class InstanceCounts:
    """Instances of one image, or of several together."""

    n_true: int  # connected parts of the truth
    n_marked: int  # instances of the mask
    n_matched: int  # pairs of them that overlap enough

    @property
    def recall(self) -> float | None:
        """Part of the true instances that was found; None where there is none."""
        return self.n_matched / self.n_true if self.n_true else None

    @property
    def precision(self) -> float | None:
        """Part of the marked instances that is true; None where nothing is marked."""
        return self.n_matched / self.n_marked if self.n_marked else None


def match_instances(
    mask: ArrayLike,
    truth: ArrayLike,
    threshold: float = INSTANCE_THRESHOLD,
    instances: ArrayLike | None = None,
) -> InstanceCounts:
    """Count the instances of a mask that are connected parts of the truth.

    Parts are connected across corners too. Overlaps leave ignored pixels out, and an instance that lies in an ignored
    region altogether does not count; but an ignored seam does not divide one.

    Parameters
    ----------
    mask : (h, w) bool
        What was marked.
    truth : (h, w) uint8 or bool
        255 object, 128 ignore, 0 background.
    threshold : float
        Intersection over union that a pair must exceed, at least 0.5.
    instances : (h, w) int, optional
        The instance of each pixel of the mask, from 1; default: its connected parts.

    Examples
    --------
    >>> import numpy as np
    >>> from segvote.metrics import match_instances
    >>> truth = np.array([[1, 1, 0, 0, 1]], dtype=bool)
    >>> match_instances(np.array([[1, 1, 0, 0, 0]], dtype=bool), truth)
    InstanceCounts(n_true=2, n_marked=1, n_matched=1)
    """
    mask, is_object, is_visible = check_pair(mask, truth)
    marked = scipy.ndimage.label(mask, EIGHT_NEIGHBOURS)[0] if instances is None else np.asarray(instances)
    if marked.shape != mask.shape:
        raise BadInputError(f"mask and instances must be (h, w) of one shape, got {mask.shape} and {marked.shape}")
    if not 0.5 <= threshold < 1:
        raise BadInputError(f"expected a threshold from 0.5 to below 1, got {threshold}; below, pairs are ambiguous")
    true, n_true = scipy.ndimage.label(is_object, EIGHT_NEIGHBOURS)
    marked = np.where(mask & is_visible, marked, 0)
    areas, true_areas = np.bincount(marked.ravel()), np.bincount(true.ravel())
    # Only pairs that meet are listed: ragged masks have thousands of parts on either side.
    pairs, common = np.unique(
        np.column_stack([marked[mask & is_object], true[mask & is_object]]), axis=0, return_counts=True
    )
    unions = areas[pairs[:, 0]] + true_areas[pairs[:, 1]] - common
    return InstanceCounts(n_true, int(np.count_nonzero(areas[1:])), int(np.count_nonzero(common > threshold * unions)))


def sum_instances(counts: Iterable[InstanceCounts]) -> InstanceCounts:
    """Instances of several images together; an image of many weighs more than an image of one."""
    counts = list(counts)
    return InstanceCounts(
        sum(one.n_true for one in counts), sum(one.n_marked for one in counts), sum(one.n_matched for one in counts)
    )
