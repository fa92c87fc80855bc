"""`Selection`: the object among the segments of images, as it is drawn, written, shown and corrected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# The extent that a vote decides by itself, see `segvote.method.extents`.
DEFAULT_EXTENT = 2


@dataclass(frozen=True)
class Selection:
    """Selected segments of all images, or of one, with the scores and thresholds that they follow from.

    Segments of an image stand together. Where thresholds are those of bags, a bag stands for an image.
    """

    offsets: np.ndarray  # (n_images + 1,) first segment of each image
    unsmoothed: np.ndarray  # (n_segments,) scores before smoothing and corrections
    scores: np.ndarray  # (n_segments,) evidence less the threshold of the run, smoothed, with corrections
    selected: np.ndarray  # (n_segments,) bool: the object
    user_labels: np.ndarray  # (n_segments,) int8: -1 unknown, 0 background, 1 object
    thresholds: np.ndarray  # (n_images,) score above which segments are object; 0 for *without* images
    uncertainty: np.ndarray  # (n_images,) of the mask, in [0, 1]; 0 for *without* images
    empty: np.ndarray  # (n_images,) bool: *with* images without supported segments
    extent: np.ndarray  # (n_images,) int: which of the nested selections this is

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def images(self) -> np.ndarray:
        """(n_segments,) number of each segment's image."""
        return np.repeat(np.arange(len(self.thresholds)), np.diff(self.offsets))

    def take(self, image: int) -> Selection:
        """The selection of one image."""
        segments, own = slice(int(self.offsets[image]), int(self.offsets[image + 1])), slice(image, image + 1)
        return Selection(
            offsets=self.offsets[image : image + 2] - self.offsets[image],
            unsmoothed=self.unsmoothed[segments],
            scores=self.scores[segments],
            selected=self.selected[segments],
            user_labels=self.user_labels[segments],
            thresholds=self.thresholds[own],
            uncertainty=self.uncertainty[own],
            empty=self.empty[own],
            extent=self.extent[own],
        )


def make_selection(
    scores: np.ndarray, selected: np.ndarray, threshold: float, user_labels: np.ndarray | None = None
) -> Selection:
    """The selection of one image that took no part in a vote, by scores and selected segments (n_segments,)."""
    return Selection(
        offsets=np.array([0, len(scores)]),
        unsmoothed=scores,
        scores=scores,
        selected=selected,
        user_labels=make_unknown_labels(len(scores)) if user_labels is None else user_labels,
        thresholds=np.array([threshold]),
        uncertainty=np.zeros(1),
        empty=np.array([not selected.any()]),
        extent=np.array([DEFAULT_EXTENT]),
    )


def make_unknown_labels(n_segments: int) -> np.ndarray:
    """(n_segments,) int8 user labels, all unknown."""
    return np.full(n_segments, -1, dtype=np.int8)


def join_finished(user_labels: np.ndarray, finished: np.ndarray) -> np.ndarray:
    """(n_segments,) int8 user labels, those of finished images by the share of each segment that is object.

    `finished` (n_segments,) are these shares in [0, 1]; NaN in other images.
    """
    return np.where(np.isnan(finished), user_labels, finished > 0.5).astype(np.int8)


def apply_labels(selected: np.ndarray, user_labels: np.ndarray) -> np.ndarray:
    """The selection (n_segments,) bool in which user labels (n_segments,) hold."""
    return np.where(user_labels >= 0, user_labels == 1, selected)
