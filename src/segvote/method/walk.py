"""The walk: the paper's iteration (eq. 17) with equal bandwidths, renormalised instead of collapsing.

With equal bandwidths eq. 17 is ``w <- M w``. As printed, w goes to 0, but its *direction* converges to the segments
where a walk over the votes ends that never met a segment of a *without* image. So w is multiplied by the background
prior and divided by its largest value in each round, ``w <- g * (M w)``. A plain walk settles on the tightest cluster;
a balanced one also divides the weights of each image by a power of their mean, see `Hypothesis`.

The same code walks for one labelling of the images or for many at once, as the columns of a matrix, in the precision of
the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from segvote.method.table import SegmentTable


@dataclass(frozen=True)
class ImageBalance:
    """Divides the weights of each image by (their mean) ** exponent: 0 leaves them, 1 makes all images equal."""

    images: np.ndarray  # (n,) number of each segment's image
    shares: np.ndarray  # (n,) part of its image that each segment covers
    exponent: float

    def take(self, rows: np.ndarray) -> ImageBalance:
        """The balance of some segments."""
        return ImageBalance(self.images[rows], self.shares[rows], self.exponent)

    @cached_property
    def _pool(self) -> sparse.csr_matrix:
        """(n_images, n) shares, so that the product with weights is their mean in each image."""
        places = self.images, np.arange(len(self.images))
        return sparse.csr_matrix((self.shares, places), shape=(self.images.max(initial=-1) + 1, len(self.images)))

    def normalise(self, weights: np.ndarray) -> np.ndarray:
        """The balanced weights (n,) or (n, n_labellings)."""
        means = np.maximum(self._pool @ weights, np.finfo(weights.dtype).tiny)
        return weights / means[self.images] ** weights.dtype.type(self.exponent)


def find_weights(
    graph: sparse.csr_matrix, prior: np.ndarray, voters: np.ndarray, n_steps: int, balance: ImageBalance | None = None
) -> np.ndarray:
    """Weights of all segments after `n_steps` rounds among the voters, the largest 1; of the shape of `voters`.

    The rows of the graph M (n, n) sum to one over *with* and *without* segments; the prior g is (n,). Voters (n,) or
    (n, n_labellings) bool are the segments that may be object; all others have weight 0.
    """
    # Segments that vote in no labelling need no rounds.
    rows = np.flatnonzero(voters.reshape(len(voters), -1).any(axis=1))
    inner = graph if len(rows) == len(voters) else graph[rows][:, rows]
    inside, factors, tiny = voters[rows], _spread(prior[rows], voters.ndim), np.finfo(graph.dtype).tiny
    balance, weights = balance and balance.take(rows), inside.astype(graph.dtype)
    for _ in range(n_steps):
        weights = factors * (inner @ weights) * inside
        weights = weights if balance is None else balance.normalise(weights)
        weights /= np.maximum(weights.max(axis=0, initial=0.0), tiny)
    full = np.zeros(voters.shape, dtype=graph.dtype)
    full[rows] = weights
    return full


def _spread(values: np.ndarray, n_axes: int) -> np.ndarray:
    """Values (n,), or (n, 1) beside arrays of two axes."""
    return values if n_axes == 1 else values[:, None]


def walk(
    table: SegmentTable, graph: sparse.csr_matrix, prior: np.ndarray, voters: np.ndarray, exponent: float, n_steps: int
) -> np.ndarray:
    """Votes for every segment by the weights of `find_weights`, balanced by `exponent`; of the shape of `voters`."""
    balance = ImageBalance(table.images, table.shares.astype(graph.dtype), exponent) if exponent else None
    return _spread(prior, voters.ndim) * (graph @ find_weights(graph, prior, voters, n_steps, balance))


def scale_votes(votes: np.ndarray, voters: np.ndarray) -> np.ndarray:
    """Votes (n_segments,) of a walk, scaled so that the highest of a voter (n_segments,) bool is 1."""
    return votes / max(votes[voters].max(initial=0.0), np.finfo(float).tiny)


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


def walk_from_seeds(graph: sparse.csr_matrix, is_candidate: np.ndarray, seeds: np.ndarray, n_steps: int) -> np.ndarray:
    """(n,) as `walk_from_labels`, from segments `seeds` that count as object."""
    labels = np.full(graph.shape[0], -1, dtype=np.int8)
    labels[seeds] = 1
    return walk_from_labels(graph, is_candidate, labels, n_steps)
