"""The door of every voter: flat arrays of segments, checked once, trusted inside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segvote.errors import BadInputError


@dataclass(frozen=True)
class Segments:
    """Segments of all bags.

    Attributes
    ----------
    X
        (n_segments, d) features.
    positive
        (n_segments,) bool: the segment belongs to P, the segments that may be object. These are the segments of *with*
        bags, less those with the user label background, plus those with the user label object anywhere.
    bags
        (n_segments,) int: bag ids 0 .. n_bags-1.
    prior
        (n_segments,) in [0, 1]: background prior, the factor g of the walk.
    user_labels
        (n_segments,) int8: -1 unknown, 0 background, 1 object.
    bag_labels
        (n_bags,) bool: the bag is *with*.
    """

    X: np.ndarray
    positive: np.ndarray
    bags: np.ndarray
    prior: np.ndarray
    user_labels: np.ndarray
    bag_labels: np.ndarray

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_bags(self) -> int:
        return len(self.bag_labels)


def check_segments(
    X: np.ndarray,
    labels: np.ndarray,
    bags: np.ndarray | None,
    prior: np.ndarray | None,
    user_labels: np.ndarray | None,
) -> Segments:
    """Check lengths and values and give every bag a number; parameters as for `BaseVoter.fit`, labels as bool."""
    n_segments = len(X)
    codes = np.arange(n_segments) if bags is None else np.unique(_check_length("bags", bags, X), return_inverse=True)[1]
    bag_labels = _check_bag_labels(codes, labels, bags)
    prior = np.ones(n_segments) if prior is None else _check_length("prior", prior, X).astype(float)
    if not ((prior >= 0) & (prior <= 1)).all():
        raise BadInputError("prior must lie in [0, 1] for every segment; clip it or give None")
    user_labels = (
        np.full(n_segments, -1, dtype=np.int8) if user_labels is None else _check_length("user_labels", user_labels, X)
    )
    if not np.isin(user_labels, (-1, 0, 1)).all():
        raise BadInputError("user_labels must be -1 (unknown), 0 (background) or 1 (object) for every segment")
    positive = np.where(user_labels < 0, labels, user_labels == 1)
    return Segments(X, positive, codes, prior, user_labels.astype(np.int8), bag_labels)


def _check_length(name: str, values: np.ndarray, X: np.ndarray) -> np.ndarray:
    values = np.asarray(values)
    if values.shape != (len(X),):
        raise BadInputError(f"{name} must have one value per segment, shape ({len(X)},); got shape {values.shape}")
    return values


def _check_bag_labels(codes: np.ndarray, labels: np.ndarray, bags: np.ndarray | None) -> np.ndarray:
    n_with = np.bincount(codes, weights=labels)
    n_all = np.bincount(codes)
    mixed = np.flatnonzero((n_with > 0) & (n_with < n_all))
    if len(mixed):
        name = np.unique(np.asarray(bags))[mixed[0]]
        raise BadInputError(
            f"a bag is *with* or *without*, so all its segments share one label; bag {name!r} has both. "
            "Give y per bag and copy it to the bag's segments"
        )
    return n_with > 0
