"""The arrays that a user gives, checked and put into the order that the method wants."""

from __future__ import annotations

import numpy as np

from segvote.errors import BadInputError


def encode_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two classes, the positive one last, and which segments carry it."""
    classes = np.unique(y)
    if len(classes) > 2:
        # The first sentence is the one scikit-learn's own checks look for.
        raise BadInputError(
            "Only binary classification is supported. Expected the two labels *with* and *without*; "
            f"got {len(classes)} classes. Fit one estimator per class"
        )
    if len(classes) < 2:
        raise BadInputError(
            f"expected segments of two classes, *with* and *without* the object; got {len(classes)} class(es): "
            f"{', '.join(map(str, classes[:5]))}. Add images of the missing kind"
        )
    if set(map(str, classes)) == {"with", "without"}:
        classes = classes[::-1]
    return classes, y == classes[1]


def number_images(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Names of the images in order of appearance, and (n_segments,) their numbers; segments of an image together."""
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    names = ids[starts]
    if len(np.unique(names)) < len(names):
        raise BadInputError("segments of one image must stand together; sort X, y and images by image")
    return names, np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(ids))))


def label_images(labels: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """(n_images,) bool, from the labels (n_segments,) bool of the segments, of which those of an image agree."""
    counts, sizes = np.bincount(numbers, weights=labels), np.bincount(numbers)
    mixed = np.flatnonzero((counts > 0) & (counts < sizes))
    if len(mixed):
        raise BadInputError(
            f"an image is *with* or *without*, so all its segments share one label; image {mixed[0]} has both. "
            "Give the image's label to all its segments"
        )
    return counts > 0


def check_user_labels(user_labels: np.ndarray | None, n_segments: int) -> np.ndarray:
    """(n_segments,) int8, all unknown where there are none."""
    if user_labels is None:
        return np.full(n_segments, -1, dtype=np.int8)
    user_labels = np.asarray(user_labels)
    if user_labels.shape != (n_segments,) or not np.isin(user_labels, (-1, 0, 1)).all():
        raise BadInputError("user labels must be -1 (unknown), 0 (background) or 1 (object) for every segment")
    return user_labels.astype(np.int8)
