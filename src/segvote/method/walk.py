"""The balanced walk: the paper's iteration (eq. 17) with equal bandwidths, renormalised instead of collapsing.

``w <- g * (M w)`` is one round of votes. Run to its end as printed, w vanishes, but its *direction* converges: to the
segments where a walk over the votes ends that never met a segment of a *without* image. Power iteration finds it. Left
alone it settles on the tightest cluster, so the weights of each image are normalised after each round.

The background prior g of a segment comes from its place in the image. *Border*: segments on the border of a photograph
are more often background. *Boundary connectivity* (Zhu, Liang, Wei, Sun, "Saliency optimization from robust background
detection", 2014): so are segments that are reached from the border without crossing an edge; an object that the border
cuts off is not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from segvote.method.table import SegmentTable

# Lab contrasts up to here are noise, and a geodesic distance at which two segments count as apart.
FREE_CONTRAST = 3.0
APART = 10.0
# Longer paths need not be followed to their end: exp(-60^2 / (2 10^2)) is 1.5e-8.
FARTHEST = 6 * APART
TINY = np.finfo(float).tiny


def find_weights(
    graph: sparse.csr_matrix,
    prior: np.ndarray,
    voters: np.ndarray,
    n_steps: int,
    balance: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """(n,) weights of all segments after `n_steps` rounds among the voters, the largest 1.

    The rows of the graph M (n, n) sum to one over *with* and *without* segments; the prior g is (n,). Voters
    (n_voters,) are the numbers of segments that may be object; all others have weight 0. `balance` normalises the
    weights (n_voters,) after each round.
    """
    inner, factors, weights = graph[voters][:, voters], prior[voters], np.ones(len(voters))
    for _ in range(n_steps):
        weights = factors * (inner @ weights)
        weights = weights if balance is None else balance(weights)
        weights /= max(weights.max(initial=0.0), TINY)
    full = np.zeros(graph.shape[0])
    full[voters] = weights
    return full


def walk(
    table: SegmentTable, graph: sparse.csr_matrix, prior: np.ndarray, voters: np.ndarray, exponent: float, n_steps: int
) -> np.ndarray:
    """(n_segments,) votes for every segment by the weights of `find_weights`; the highest of a voter is 1.

    After each round the weights of an image are divided by (their mean) ** `exponent`: 0 leaves them, 1 makes all
    images equal.
    """
    images, shares = table.images[voters], table.shares[voters]

    def balance(weights: np.ndarray) -> np.ndarray:
        means = np.bincount(images, weights=weights * shares)
        return weights / np.maximum(means, TINY)[images] ** exponent

    votes = prior * (graph @ find_weights(graph, prior, voters, n_steps, balance if exponent else None))
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


def measure_border_prior(border: np.ndarray, factor: float) -> np.ndarray:
    """`factor`, in (0, 1], for segments whose length (n_segments,) on the image border is above 0, and 1 elsewhere.

    Without it a scene that all *with* images share, and no *without* image shows, wins over the object in it.
    """
    return np.where(border > 0, factor, 1.0)


def measure_connectivity(table: SegmentTable) -> np.ndarray:
    """(n_segments,) connection of each segment to the image border, in [0, 1); 0 where colours are unknown.

    With S_ij = exp(-d_ij^2 / (2 10^2)) for the geodesic colour distance d, the border length sum_j S_ij border_j of a
    segment's neighbourhood over the square root of its area sum_j S_ij area_j is b_i, and B_i = 1 - exp(-b_i^2 / 2).
    """
    connectivity = np.zeros(len(table))
    edge_images = table.images[table.edges[:, 0]]
    unknown = np.bincount(edge_images, np.isnan(table.contrasts), minlength=table.n_images) > 0
    first = np.searchsorted(edge_images, np.arange(table.n_images + 1))
    for image in map(int, np.flatnonzero(~unknown)):
        part, own = table.get_slice(image), slice(first[image], first[image + 1])
        affinity = _measure_affinity(table.edges[own] - part.start, table.contrasts[own], part.stop - part.start)
        lengths = (affinity @ table.border[part]) / np.sqrt(affinity @ table.areas[part])
        connectivity[part] = 1 - np.exp(-(lengths**2) / 2)
    return connectivity


def _measure_affinity(edges: np.ndarray, contrasts: np.ndarray, n_segments: int) -> np.ndarray:
    """(n_segments, n_segments) exp(-d^2 / (2 10^2)) for the geodesic distance d between two segments of one image."""
    # A step that costs nothing is no edge to scipy.
    costs = np.maximum(contrasts - FREE_CONTRAST, 1e-6)
    ends = np.concatenate([edges, edges[:, ::-1]])
    graph = sparse.csr_matrix((np.tile(costs, 2), (ends[:, 0], ends[:, 1])), shape=(n_segments, n_segments))
    return np.exp(-(dijkstra(graph, limit=FARTHEST) ** 2) / (2 * APART**2))
