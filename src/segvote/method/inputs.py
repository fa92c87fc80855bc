"""What a user of the estimator may give, checked and numbered: labels, image names, user labels, parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real

import numpy as np

from segvote.errors import BadInputError
from segvote.method.threshold import DECISIONS
from segvote.selection import make_unknown_labels


def encode_labels(y: np.ndarray, pos_label: object = None) -> tuple[np.ndarray, np.ndarray]:
    """The two classes, the positive one last, and (n_segments,) bool: the segments whose label is positive.

    `pos_label` is the label of *with* images; None: the larger of two numbers, True, or ``with`` beside ``without``.
    """
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
    positive = _find_positive(classes, pos_label)
    return np.array([classes[1 - positive], classes[positive]], dtype=classes.dtype), y == classes[positive]


def _find_positive(classes: np.ndarray, pos_label: object) -> int:
    names = [str(one) for one in classes]
    if pos_label is not None:
        if str(pos_label) not in names:
            raise BadInputError(f"pos_label must be one of the labels {names}; got {pos_label!r}")
        return names.index(str(pos_label))
    if set(names) == {"with", "without"}:
        return names.index("with")
    if classes.dtype.kind not in "biuf":
        raise BadInputError(f"which of the labels {names} means *with* the object? Give it as pos_label")
    return 1


def number_images(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Names of the images in order of appearance, and (n_segments,) their numbers; segments of an image together."""
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    names = ids[starts]
    if len(np.unique(names)) < len(names):
        raise BadInputError("segments of one image must stand together; sort X, y and images by image")
    return names, np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(ids))))


def label_images(labels: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """(n_images,) bool labels from those of the segments (n_segments,), which agree within an image."""
    counts, sizes = np.bincount(numbers, weights=labels), np.bincount(numbers)
    mixed = np.flatnonzero((counts > 0) & (counts < sizes))
    if len(mixed):
        raise BadInputError(
            f"an image is *with* or *without*, so all its segments share one label; image {mixed[0]} has both. "
            "Give the image's label to all its segments"
        )
    return counts > 0


def check_user_labels(user_labels: np.ndarray | None, n_segments: int) -> np.ndarray:
    """(n_segments,) int8: -1 unknown, 0 background, 1 object; all unknown for None."""
    if user_labels is None:
        return make_unknown_labels(n_segments)
    user_labels = np.asarray(user_labels)
    if user_labels.shape != (n_segments,) or not np.isin(user_labels, (-1, 0, 1)).all():
        raise BadInputError("user labels must be -1 (unknown), 0 (background) or 1 (object) for every segment")
    return user_labels.astype(np.int8)


# Parameters of the estimator ------------------------------------------------------------------------------------------


def check_parameters(given: Mapping[str, object]) -> None:
    """Raise `BadInputError` for the first value out of range, by parameter of `SegmentAnnotator`."""
    for name, (expected, is_valid) in _PARAMETERS.items():
        if not is_valid(given[name]):
            raise BadInputError(f"{name} must be {expected}; got {given[name]!r}")


def _is_count(value: object) -> bool:
    return isinstance(value, Integral) and not _is_flag(value) and int(value) >= 1


def _is_flag(value: object) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_share(value: object) -> bool:
    return isinstance(value, Real) and not _is_flag(value) and 0 <= float(value) <= 1


def _is_label(value: object) -> bool:
    return value is None or isinstance(value, str | Integral) or _is_flag(value)


# Parameter to what is expected, and the check of it.
_PARAMETERS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "n_neighbors": ("an integer, at least 1", _is_count),
    "n_steps": ("an integer, at least 1", _is_count),
    "border_prior": ("a number above 0 and at most 1", lambda value: _is_share(value) and value != 0),
    "smoothing": ("a number from 0 to 1", _is_share),
    "exclude_mislabelled": ("True or False", _is_flag),
    "decision": (f"one of {', '.join(DECISIONS)}", lambda value: value in DECISIONS),
    "allow_empty": ("True or False", _is_flag),
    "pos_label": ("a label: an integer, a string, True, False or None", _is_label),
}
