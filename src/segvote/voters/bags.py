"""Bags for the voters of multiple-instance learning: sorted, summed over, standardised, classified as wholes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from segvote.errors import BadInputError
from segvote.voters.base import BaseVoter, Segments


@dataclass(frozen=True)
class Bags:
    """Segments sorted so that each bag is one run of rows."""

    X: np.ndarray  # (n, d) float64
    starts: np.ndarray  # (n_bags,) first row of every bag
    labels: np.ndarray  # (n_bags,) bool: the bag is *with*
    rows: np.ndarray  # (n,) the training segment of each row

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(np.append(self.starts, len(self.X)))

    @property
    def codes(self) -> np.ndarray:
        """(n,) the number of each row's bag."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @property
    def positive(self) -> np.ndarray:
        """(n,) bool: the row's bag is *with*."""
        return np.repeat(self.labels, self.sizes)

    def sum(self, values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, self.starts, axis=0)

    def max(self, values: np.ndarray) -> np.ndarray:
        return np.maximum.reduceat(values, self.starts, axis=0)

    def mean(self, values: np.ndarray) -> np.ndarray:
        return (self.sum(values).T / self.sizes).T

    def find_best(self, values: np.ndarray) -> np.ndarray:
        """(n_bags,) the row with the largest value of each bag, the first of equals."""
        at_best = np.flatnonzero(values >= np.repeat(self.max(values), self.sizes))
        codes = self.codes[at_best]
        return at_best[np.searchsorted(codes, np.arange(len(self)))]


def sort_bags(X: np.ndarray, codes: np.ndarray, labels: np.ndarray) -> Bags:
    """Sort segments by bag and, within a bag, by their features: the order they came in cannot matter.

    `codes` (n,) are integer bag ids, rows with a negative one are left out; `labels` (n,) bool is that of the row's
    bag.
    """
    kept = np.flatnonzero(codes >= 0)
    points = np.ascontiguousarray(X[kept], dtype=np.float64) + 0.0  # -0 and 0 are one value but not one byte string
    order = np.argsort(points.view(np.dtype((np.void, points.itemsize * points.shape[1]))).ravel(), kind="stable")
    order = order[np.argsort(codes[kept][order], kind="stable")]
    rows = kept[order]
    starts = np.flatnonzero(np.diff(codes[rows], prepend=-1))
    return Bags(points[order], starts, labels[rows[starts]], rows)


def group_bags(segments: Segments) -> Bags:
    """The bags to learn from: a correction is a bag of its own.

    The rest of a *with* bag in which an object was pointed out does not take part.
    """
    known = segments.user_labels >= 0
    explained = np.isin(segments.bags, segments.bags[segments.user_labels == 1]) & segments.bag_labels[segments.bags]
    codes = np.where(explained, -1, segments.bags)
    # Numbered by their features, not by their place, so that the order of segments does not matter here either.
    if known.any():
        codes[known] = segments.n_bags + np.argsort(np.lexsort(segments.X[known].T[::-1]))
    return sort_bags(segments.X, codes, segments.positive)


def split_bags(values: np.ndarray, labels: np.ndarray) -> float:
    """The threshold on bag scores with the fewest training errors, labels balanced; the lowest of equals."""
    order = np.argsort(values, kind="stable")
    ranked, labelled = values[order], labels[order]
    missed = np.cumsum(labelled) / max(labels.sum(), 1)  # *with* bags at or below the cut
    alarms = 1 - np.cumsum(~labelled) / max((~labels).sum(), 1)  # *without* bags above it
    can_cut = np.diff(ranked) > 0
    if not can_cut.any():
        return float(ranked[0])
    cut = int(np.argmin(np.where(can_cut, (missed + alarms)[:-1], np.inf)))
    return float(0.5 * (ranked[cut] + ranked[cut + 1]))


class BagVoter(BaseVoter):
    """Base of the voters that learn from whole bags, and classify bags too.

    A voter implements ``_fit_bags(bags)`` and ``_score``. Training segments are scored by the decision function that
    was learned from all bags: leaving each bag out would mean learning once per bag.
    """

    def _learn(self, segments: Segments) -> None:
        bags = group_bags(segments)
        if bags.labels.all() or not bags.labels.any():
            missing = "*without*" if bags.labels.all() else "*with*"
            raise BadInputError(f"the corrections leave no {missing} bag to learn from; take some of them back")
        self._fit_bags(bags)
        self._bag_threshold = self._find_bag_threshold(bags)

    def _fit_bags(self, bags: Bags) -> None:
        """Learn the state that `_score` uses from whole bags."""
        raise NotImplementedError

    def _score_bags(self, bags: Bags) -> np.ndarray:
        """(n_bags,) votes for whole bags: by default those of the best segment."""
        return bags.max(self._score_rows(bags))

    def _score_rows(self, bags: Bags) -> np.ndarray:
        """(n,) votes for the segments of bags."""
        return self._score(bags.X, bags.codes, np.ones(len(bags.X)))

    def _find_bag_threshold(self, bags: Bags) -> float:
        """The threshold on votes for bags; 0 where the votes have a natural zero."""
        return 0.0

    def decision_bags(self, X: np.ndarray, bags: np.ndarray) -> np.ndarray:
        """(n_bags,) score of every bag, in the order of ``np.unique(bags)``; above 0 means *with*.

        Parameters
        ----------
        X : (n_segments, d) float
            Features of segments.
        bags : (n_segments,) array
            Bag ids.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        if np.shape(bags) != (len(X),):
            raise BadInputError(f"bags must have one value per segment ({len(X)}); got shape {np.shape(bags)}")
        codes = np.unique(np.asarray(bags), return_inverse=True)[1]
        return self._score_bags(sort_bags(X, codes, np.ones(len(X), dtype=bool))) - self._bag_threshold

    def predict_bags(self, X: np.ndarray, bags: np.ndarray) -> np.ndarray:
        """(n_bags,) label of every bag, in the order of ``np.unique(bags)``."""
        selected = self.decision_bags(X, bags) > 0
        return self.classes_[selected.astype(int)]


@dataclass(frozen=True)
class Standard:
    """Centre and spread of every column, each (d,)."""

    centre: np.ndarray
    spread: np.ndarray

    @classmethod
    def learn(cls, X: np.ndarray) -> Standard:
        """Mean and spread of the columns of (n, d); a constant column has a spread of one."""
        spread = X.std(axis=0, dtype=np.float64)
        return cls(X.mean(axis=0, dtype=np.float64), np.where(spread > 1e-12, spread, 1.0))

    def apply(self, X: np.ndarray) -> np.ndarray:
        """(n, d) float64."""
        return (X - self.centre) / self.spread
