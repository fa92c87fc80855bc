"""Training segments as prototypes: their kernels vote on any segment, and bags are vectors of nearness to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.svm import OneClassSVM
from sklearn.utils import gen_batches

from segvote.errors import BadInputError, TooLargeError
from segvote.numerics.spread import spread_evenly
from segvote.voters.bags import Bags, BagVoter, Standard, sort_bags
from segvote.voters.base import BaseVoter, Segments, Votes
from segvote.voters.kernel_votes import choose_bandwidth

QUERIES_PER_BLOCK = 1024
# Numbers in the largest table of bags by prototypes a linear SVM is given.
LARGEST_TABLE = 100_000_000


def measure_kernel(X: np.ndarray, points: np.ndarray, gamma: float) -> np.ndarray:
    """(n, n_points) ``exp(-gamma |x - t|^2)``."""
    return np.exp(-gamma * cdist(X, points, "sqeuclidean"))


@dataclass(frozen=True)
class Prototypes:
    """``f(x) = sum_k a_k exp(-gamma |x - t_k|^2) + b``."""

    points: np.ndarray  # (m, d) t
    amounts: np.ndarray  # (m,) a
    rows: np.ndarray  # (m,) the numbers of these training segments
    gamma: float
    intercept: float = 0.0  # b

    def list_votes(self, X: np.ndarray) -> np.ndarray:
        """(n, m) contribution of every prototype."""
        return measure_kernel(X, self.points, self.gamma) * self.amounts

    def vote(self, X: np.ndarray) -> np.ndarray:
        """(n,) f."""
        # Sums over columns, not products: a row's rounding then does not depend on how many rows there are.
        votes = [self.list_votes(X[rows]).sum(axis=1) for rows in gen_batches(len(X), QUERIES_PER_BLOCK)]
        return np.concatenate(votes) + self.intercept


class PrototypeVoter(BaseVoter):
    """Base of the voters whose score is that of `prototypes_`, on features standardised by `_standard` if it is set."""

    prototypes_: Prototypes
    _standard: Standard | None = None

    def _standardise(self, X: np.ndarray) -> np.ndarray:
        return X if self._standard is None else self._standard.apply(X)

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return self.prototypes_.vote(self._standardise(X))

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> Votes:
        prototypes = self.prototypes_
        return (
            prototypes.rows,
            prototypes.list_votes(self._standardise(x[None, :]))[0],
            prototypes.intercept - self.threshold_,
        )


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


@dataclass(eq=False, repr=False)
class PrototypeVoting(PrototypeVoter, BagVoter):
    """Class-specific prototypes that vote (Krapac 2014), our reading: ``f(x) = sum_p v_p k(x, p)``.

    A prototype is a *with* segment. How much bag b shows it is ``s_bp``, the kernel at the nearest segment of b. It
    votes with its log odds
    ``v_p = log (1 + sum_with s_bp) / (2 + n_with) - log (1 + sum_without s_bp) / (2 + n_without)``, its own bag left
    out. Prototypes are taken one by one, as long as one covers more of the *with* bags that are not
    covered yet than of the *without* bags (see `select_prototypes`).
    """

    n_prototypes: int = 50  # at most
    n_candidates: int = 2000  # most *with* segments, evenly spaced, that are candidates
    bandwidth: float | None = None  # of the Gaussian kernel; None: see `choose_bandwidth`, over all segments

    def _fit_bags(self, bags: Bags) -> None:
        if self.n_prototypes < 1 or self.n_candidates < 1:
            raise BadInputError(
                f"there must be a prototype and a candidate; got {self.n_prototypes}, {self.n_candidates}"
            )
        self.bandwidth_ = choose_bandwidth(self.bandwidth, bags.X, bags.X, bags.codes, bags.codes)
        candidates = np.flatnonzero(bags.positive)
        candidates = candidates[spread_evenly(len(candidates), self.n_candidates)]
        similarity = embed_bags(bags, bags.X[candidates], self.bandwidth_)
        similarity[bags.codes[candidates], np.arange(len(candidates))] = 0.0  # its own bag is left out
        n_with, n_without = bags.labels.sum() - 1, (~bags.labels).sum()
        shown = (1 + similarity[bags.labels].sum(axis=0)) / (2 + n_with)
        odds = np.log(shown) - np.log((1 + similarity[~bags.labels].sum(axis=0)) / (2 + n_without))
        chosen = select_prototypes(similarity, bags.labels, self.n_prototypes)
        rows = candidates[chosen]
        self.prototypes_ = Prototypes(bags.X[rows], odds[chosen], bags.rows[rows], 0.5 / self.bandwidth_**2)


def select_prototypes(similarity: np.ndarray, labels: np.ndarray, n_prototypes: int) -> np.ndarray:
    """Choose prototypes one by one: (m,) candidates, at least one, by s (n_bags, n_candidates), 0 in their own bags.

    Each adds the largest ``mean_with u_b s_bp - mean_without s_bp``, u_b the part of bag b that those chosen before
    leave uncovered, ``prod (1 - s_bp)``; the last is the one before the first that adds nothing.
    """
    shown, cost = similarity[labels], similarity[~labels].mean(axis=0)
    uncovered = np.ones(len(shown))
    chosen: list[int] = []
    for _ in range(min(n_prototypes, similarity.shape[1])):
        gains = uncovered @ shown / len(shown) - cost
        gains[chosen] = -np.inf
        best = int(np.argmax(gains))
        if chosen and gains[best] <= 0:
            break
        chosen.append(best)
        uncovered *= 1 - shown[:, best]
    return np.array(chosen, dtype=np.int64)


@dataclass(eq=False, repr=False)
class OneClass(PrototypeVoter):
    """One-class SVM with a Gaussian kernel on *without* segments (Jiang 2015); the score is its decision negated."""

    wants_lengths = True

    nu: float = 0.1  # share of the negatives that may lie outside
    gamma: float | None = None  # of exp(-gamma |x - n|^2) on standardised features; None: 1 / n_features
    max_negatives: int = 5000  # training negatives, an even sample of more: the solver is quadratic in their number

    def _learn(self, segments: Segments) -> None:
        negative = np.where(segments.positive, -1, 0)
        sample = sort_bags(segments.X, negative, ~segments.positive)
        chosen = spread_evenly(len(sample.X), self.max_negatives)
        self._standard = Standard.learn(sample.X)
        points = self._standard.apply(sample.X[chosen])
        self.gamma_ = 1 / points.shape[1] if self.gamma is None else self.gamma
        model = OneClassSVM(nu=self.nu, gamma=self.gamma_).fit(points)
        kept, amounts = model.support_, -model.dual_coef_[0]
        rows = sample.rows[chosen[kept]]
        self.prototypes_ = Prototypes(points[kept], amounts, rows, self.gamma_, float(model.offset_[0]))
