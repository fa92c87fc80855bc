"""Training segments as prototypes: their kernels vote on any segment, and bags are vectors of nearness to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils import gen_batches

from segvote.errors import TooLargeError
from segvote.voters.base import BaseVoter, Votes
from segvote.voters.mil.learning_bags import Bags
from segvote.voters.standard import Standard

QUERIES_PER_BLOCK = 1024
# Numbers in the largest table of bags by prototypes a linear SVM is given.
LARGEST_TABLE = 100_000_000


def measure_kernel(X: np.ndarray, points: np.ndarray, gamma: float) -> np.ndarray:
    """(n, n_points) ``exp(-gamma |x - t|^2)``."""
    return np.exp(-gamma * cdist(X, points, "sqeuclidean"))


@dataclass(frozen=True)
class Prototypes:
    """``f(x) = sum_k a_k exp(-gamma |x - t_k|^2) + b``.

    Attributes
    ----------
    points, amounts, rows
        (m, d) t, (m,) a, and (m,) the training segments they are.
    gamma, intercept
        Of the kernel; b.
    """

    points: np.ndarray
    amounts: np.ndarray
    rows: np.ndarray
    gamma: float
    intercept: float = 0.0

    def list_votes(self, X: np.ndarray) -> np.ndarray:
        """(n, m) what every prototype adds."""
        return measure_kernel(X, self.points, self.gamma) * self.amounts

    def vote(self, X: np.ndarray) -> np.ndarray:
        """(n,) f."""
        # Sums over columns, not products: a row's rounding then does not depend on how many rows there are.
        votes = [self.list_votes(X[rows]).sum(axis=1) for rows in gen_batches(len(X), QUERIES_PER_BLOCK)]
        return np.concatenate(votes) + self.intercept


class PrototypeVoter(BaseVoter):
    """Base of the voters whose score is that of `_prototypes`, on features standardised by `_standard` if it is set."""

    _prototypes: Prototypes
    _standard: Standard | None = None

    def _standardise(self, X: np.ndarray) -> np.ndarray:
        return X if self._standard is None else self._standard.apply(X)

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return self._prototypes.vote(self._standardise(X))

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> Votes:
        found = self._prototypes
        return found.rows, found.list_votes(self._standardise(x[None, :]))[0], found.intercept - self.threshold_


def embed_bags(bags: Bags, prototypes: np.ndarray, bandwidth: float) -> np.ndarray:
    """(n_bags, n_prototypes) similarity of the nearest segment of every bag to every prototype."""
    table = np.zeros((len(bags), len(prototypes)))
    codes = bags.codes
    for rows in gen_batches(len(bags.X), QUERIES_PER_BLOCK):
        similarity = measure_kernel(bags.X[rows], prototypes, 0.5 / bandwidth**2)
        present, first = np.unique(codes[rows], return_index=True)
        table[present] = np.maximum(table[present], np.maximum.reduceat(similarity, first, axis=0))
    return table


def check_embedding(n_bags: int, n_prototypes: int, alternative: str) -> None:
    """Refuse a table that no solver would finish."""
    if n_bags * n_prototypes > LARGEST_TABLE:
        raise TooLargeError(
            f"a table of bags by prototypes may hold {LARGEST_TABLE:.0e} numbers; got {n_bags} bags x {n_prototypes} "
            f"prototypes. {alternative}"
        )
