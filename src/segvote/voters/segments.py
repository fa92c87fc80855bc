"""The door of every voter: flat arrays of segments, checked once, trusted inside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segvote.errors import BadInputError
from segvote.types import WITH, WITHOUT

__all__ = ["Segments", "check_segments", "encode_tags"]


@dataclass(frozen=True)
class Segments:
    """Segments of all bags.

    Attributes
    ----------
    X
        (n_segments, d) features.
    positive
        (n_segments,) bool: the segment belongs to P, the segments that may be object. These are the segments of *with*
        bags, less those a person called background, plus those a person called object anywhere.
    bags
        (n_segments,) int: bag ids 0 .. n_bags-1.
    survival
        (n_segments,) in [0, 1]: background prior; a vote walk survives a visit to segment i with this probability.
    fixed
        (n_segments,) int8: -1 unknown, 0 background, 1 object, by a person's word.
    bag_tags
        (n_bags,) bool: the bag is *with*.
    """

    X: np.ndarray
    positive: np.ndarray
    bags: np.ndarray
    survival: np.ndarray
    fixed: np.ndarray
    bag_tags: np.ndarray

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_bags(self) -> int:
        return len(self.bag_tags)


def encode_tags(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the two classes, the positive one last, and which segments carry it.

    ``with``/``without`` mean what they say; of any other two values the larger is *with* (so 1 of {0, 1} and {-1, 1}).
    """
    classes = np.unique(y)
    if len(classes) != 2:
        raise BadInputError(
            f"expected segments of two classes, *with* and *without* the thing; got {len(classes)} class(es): "
            f"{', '.join(map(str, classes[:5]))}. Add bags of the missing kind"
        )
    if set(map(str, classes)) == {WITH, WITHOUT}:
        classes = classes[::-1]
    return classes, y == classes[1]


def check_segments(
    X: np.ndarray,
    tags: np.ndarray,
    bags: np.ndarray | None,
    survival: np.ndarray | None,
    fixed: np.ndarray | None,
) -> Segments:
    """Check lengths and values and give every bag a number.

    Parameters
    ----------
    X
        (n_segments, d), finite.
    tags
        (n_segments,) bool.
    bags, survival, fixed
        (n_segments,) or None: every segment its own bag; nothing is suspected; nothing is known.
    """
    n_segments = len(X)
    codes = np.arange(n_segments) if bags is None else np.unique(_check_length("bags", bags, X), return_inverse=True)[1]
    bag_tags = _check_bag_tags(codes, tags, bags)
    survival = np.ones(n_segments) if survival is None else _check_length("survival", survival, X).astype(float)
    if not ((survival >= 0) & (survival <= 1)).all():
        raise BadInputError("survival must lie in [0, 1] for every segment; clip it or give None")
    fixed = np.full(n_segments, -1, dtype=np.int8) if fixed is None else _check_length("fixed", fixed, X)
    if not np.isin(fixed, (-1, 0, 1)).all():
        raise BadInputError("fixed must be -1 (unknown), 0 (background) or 1 (object) for every segment")
    positive = np.where(fixed < 0, tags, fixed == 1)
    return Segments(X, positive, codes, survival, fixed.astype(np.int8), bag_tags)


def _check_length(name: str, values: np.ndarray, X: np.ndarray) -> np.ndarray:
    values = np.asarray(values)
    if values.shape != (len(X),):
        raise BadInputError(f"{name} must have one value per segment, shape ({len(X)},); got shape {values.shape}")
    return values


def _check_bag_tags(codes: np.ndarray, tags: np.ndarray, bags: np.ndarray | None) -> np.ndarray:
    n_with = np.bincount(codes, weights=tags)
    n_all = np.bincount(codes)
    mixed = np.flatnonzero((n_with > 0) & (n_with < n_all))
    if len(mixed):
        name = np.unique(np.asarray(bags))[mixed[0]]
        raise BadInputError(
            f"a bag is *with* or *without*, so all its segments share one tag; bag {name!r} has both. "
            "Give y per bag and copy it to the bag's segments"
        )
    return n_with > 0
