"""The balanced walk: the paper's iteration (eq. 17) with equal bandwidths, renormalised instead of collapsing.

``w <- g * (M w)`` is one round of votes; run to its end as printed, w vanishes. Its *direction* converges, to where a
walk over the votes ends up that never met a segment of a *without* image. Power iteration finds it; left alone it
settles on the tightest cluster, so the weights of each image are normalised after each round.

The background prior g of a segment comes from its place in the image. *Border*: what touches the border of a photograph
is more often background. *Boundary connectivity* (Zhu, Liang, Wei, Sun, "Saliency optimization from robust background
detection", 2014): what can be reached from the border without crossing an edge is more often background, and an object
cut off by the border is not.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from segvote.method.table import SegmentTable

# Lab contrasts up to here are noise, and a geodesic distance at which two segments count as apart.
FREE_CONTRAST = 3.0
APART = 10.0
# Ways longer than this need not be followed to their end: exp(-60^2 / (2 10^2)) is 1.5e-8.
FARTHEST = 6 * APART
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


# Background priors ----------------------------------------------------------------------------------------------------


def measure_border_prior(border: np.ndarray, factor: float = 0.9) -> np.ndarray:
    """`factor` for segments on the image border, 1 elsewhere.

    Without it a scene that all *with* images share, and no *without* image shows, wins over the object in it.

    Parameters
    ----------
    border : (n_segments,)
        Length of boundary on the border of the image.
    factor : float
        In (0, 1]; 1 switches the prior off.
    """
    return np.where(border > 0, factor, 1.0)


def measure_connectivity(table: SegmentTable) -> np.ndarray:
    """(n_segments,) how much each segment belongs to what touches the border, in [0, 1); 0 where colours are unknown.

    With S_ij = exp(-d_ij^2 / (2 10^2)) for the geodesic colour distance d, the border length sum_j S_ij border_j of a
    segment's neighbourhood over the square root of its area sum_j S_ij area_j is b_i, and B_i = 1 - exp(-b_i^2 / 2).
    """
    connectivity = np.zeros(len(table))
    unknown = np.bincount(table.images[table.edges[:, 0]], np.isnan(table.contrasts), minlength=table.n_images) > 0
    first = np.searchsorted(table.images[table.edges[:, 0]], np.arange(table.n_images + 1))
    for image in map(int, np.flatnonzero(~unknown)):
        part, own = table.get_slice(image), slice(first[image], first[image + 1])
        alike = _measure_geodesic_affinity(table.edges[own] - part.start, table.contrasts[own], part.stop - part.start)
        lengths = (alike @ table.border[part]) / np.sqrt(alike @ table.areas[part])
        connectivity[part] = 1 - np.exp(-(lengths**2) / 2)
    return connectivity


def _measure_geodesic_affinity(edges: np.ndarray, contrasts: np.ndarray, n_segments: int) -> np.ndarray:
    """(n_segments, n_segments) exp(-d^2 / 2 10^2) for the cheapest way d between two segments of one image."""
    # A step that costs nothing is no edge to scipy.
    costs = np.maximum(contrasts - FREE_CONTRAST, 1e-6)
    ends = np.concatenate([edges, edges[:, ::-1]])
    graph = sparse.csr_matrix((np.tile(costs, 2), (ends[:, 0], ends[:, 1])), shape=(n_segments, n_segments))
    return np.exp(-(dijkstra(graph, limit=FARTHEST) ** 2) / (2 * APART**2))
