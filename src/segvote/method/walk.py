"""The balanced walk: the paper's iteration (eq. 17) with equal bandwidths, renormalised instead of collapsing.

``w <- g * (M w)`` is one round of votes; run to its end as printed it says that nothing is object. Its *direction*
converges, to where a walk over the votes ends up that never met a segment of a *without* image. Power iteration finds
it; left alone it settles on the tightest cluster, so every image is given about the same voice after each round.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from segvote.method.graph import subgraph

TINY = np.finfo(float).tiny


class Voice:
    """Divides the weights of each image by (its mean weight) ** balance: 0 leaves them, 1 makes all images equal.

    Parameters
    ----------
    images, shares : (n,)
        Number of the image of each segment, and the part of the image that it covers.
    balance : float
        In [0, 1].
    """

    def __init__(self, images: np.ndarray, shares: np.ndarray, balance: float) -> None:
        self.images, self.shares, self.balance = images, shares, balance

    def balance_weights(self, weights: np.ndarray) -> np.ndarray:
        if self.balance == 0:
            return weights
        means = np.bincount(self.images, weights=weights * self.shares)
        return weights / np.maximum(means, TINY)[self.images] ** self.balance


def find_weights(
    graph: sparse.csr_matrix, prior: np.ndarray, voters: np.ndarray, voice: Voice, n_steps: int = 60
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
    voice : Voice
        Of the voters.
    n_steps : int
        Rounds.
    """
    inner, factors, weights = subgraph(graph, voters), prior[voters], np.ones(len(voters))
    for _ in range(n_steps):
        weights = voice.balance_weights(factors * (inner @ weights))
        weights /= max(weights.max(initial=0.0), TINY)
    full = np.zeros(graph.shape[0])
    full[voters] = weights
    return full


def walk(
    graph: sparse.csr_matrix, prior: np.ndarray, voters: np.ndarray, voice: Voice, n_steps: int = 60
) -> np.ndarray:
    """(n,) votes for every segment by the weights of `find_weights`; the best voter has 1, unless nobody has any."""
    votes = prior * (graph @ find_weights(graph, prior, voters, voice, n_steps))
    return votes / max(votes[voters].max(initial=0.0), TINY)
