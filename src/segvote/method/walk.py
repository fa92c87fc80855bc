"""The balanced walk: the paper's iteration (eq. 17) with equal bandwidths, renormalised instead of collapsing.

``w <- g * (M w)`` is one round of votes; run to its end as printed, w vanishes. Its *direction* converges, to where a
walk over the votes ends up that never met a segment of a *without* image. Power iteration finds it; left alone it
settles on the tightest cluster, so the weights of each image are normalised after each round.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

TINY = np.finfo(float).tiny


class ImageBalance:
    """Divides the weights of each image by (its mean weight) ** balance.

    Parameters
    ----------
    images, shares : (n,)
        Number of the image of each segment, ascending, and the part of the image that it covers.
    balance : float
        In [0, 1]: 0 leaves the weights, 1 makes all images equal.
    """

    def __init__(self, images: np.ndarray, shares: np.ndarray, balance: float) -> None:
        self.images, self.shares, self.balance = images, shares, balance

    def apply(self, weights: np.ndarray) -> np.ndarray:
        """Balanced weights (n,)."""
        if self.balance == 0:
            return weights
        means = np.bincount(self.images, weights=weights * self.shares)
        return weights / np.maximum(means, TINY)[self.images] ** self.balance


def find_weights(
    graph: sparse.csr_matrix,
    prior: np.ndarray,
    voters: np.ndarray,
    balance: ImageBalance,
    n_steps: int = 60,
) -> np.ndarray:
    """Weights of all segments after `n_steps` rounds among the voters, the largest 1.

    Parameters
    ----------
    graph : (n, n)
        Votes M, rows sum to one over *with* and *without* segments.
    prior : (n,)
        Background prior g in [0, 1].
    voters : (n_voters,) int
        The segments that may be object; all others weigh nothing, and what votes for them is lost.
    balance : ImageBalance
        Of the voters.
    n_steps : int
        Rounds.
    """
    inner, factors, weights = graph[voters][:, voters], prior[voters], np.ones(len(voters))
    for _ in range(n_steps):
        weights = balance.apply(factors * (inner @ weights))
        weights /= max(weights.max(initial=0.0), TINY)
    full = np.zeros(graph.shape[0])
    full[voters] = weights
    return full


def walk(
    graph: sparse.csr_matrix,
    prior: np.ndarray,
    voters: np.ndarray,
    balance: ImageBalance,
    n_steps: int = 60,
) -> np.ndarray:
    """(n,) votes for every segment by the weights of `find_weights`, of which the highest of a voter is 1."""
    votes = prior * (graph @ find_weights(graph, prior, voters, balance, n_steps))
    return votes / max(votes[voters].max(initial=0.0), TINY)


def walk_from_labels(
    graph: sparse.csr_matrix, is_candidate: np.ndarray, user_labels: np.ndarray, n_steps: int
) -> np.ndarray:
    """(n,) probability in [0, 1] to meet an object label first, within `n_steps` steps.

    Every segment without a label takes the mean of its neighbours, again and again, while user labels keep theirs and
    *without* segments stay background: the harmonic function of label propagation.
    """
    free = np.flatnonzero(is_candidate & (user_labels < 0))
    votes, weights = graph[free], (user_labels == 1).astype(np.float64)
    for _ in range(n_steps):
        weights[free] = votes @ weights
    return weights
