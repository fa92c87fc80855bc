"""Could any two folders have done this? The vote held again with shuffled folder labels, on the same graph.

The statistic is the self-consistency of the selection. Walks of a few rounds, one re-vote and no second look are held
for the labels as they are and for shuffled ones alike, all at once: the columns of one matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from segvote.method.decide import measure_consistency, select, select_separable
from segvote.method.table import SegmentTable, smooth_along
from segvote.method.vote import Hypothesis, Vote

# 19 shuffles: the smallest p-value is 0.05.
N_SHUFFLES = 19
N_STEPS = 12
# Exponents tried on the votes, fewer than a vote tries.
POWERS = (1.0, 0.5, 0.25)
SEED = 0


@dataclass(frozen=True)
class PermutationTest:
    """Self-consistency with the folders as they are, and with shuffled ones.

    Attributes
    ----------
    observed : float
        Highest self-consistency over the hypotheses, with the folder labels as they are.
    shuffled : (n_shuffles,)
        The same with shuffled labels.
    """

    observed: float
    shuffled: np.ndarray

    @property
    def p_value(self) -> float:
        """Share of labellings, the real one among them, that are as consistent as the real one."""
        return float((1 + (self.shuffled >= self.observed).sum()) / (1 + len(self.shuffled)))

    @property
    def mean(self) -> float:
        """Mean self-consistency of shuffled labels."""
        return float(self.shuffled.mean())

    @property
    def gain(self) -> float:
        """(observed - mean) / (1 - mean): self-consistency corrected for chance, at least 0, as Cohen's kappa is."""
        return max(0.0, (self.observed - self.mean) / max(1 - self.mean, 1e-9))


def test_permutations(found: Vote, n_shuffles: int = N_SHUFFLES) -> PermutationTest:
    """Hold the vote with shuffled folder labels; images of one group keep the same label."""
    labels = shuffle_labels(found.table, n_shuffles)
    scores = np.max([_measure(found, labels, one) for one in found.params.hypotheses], axis=0)
    return PermutationTest(float(scores[0]), scores[1:])


def shuffle_labels(table: SegmentTable, n_shuffles: int) -> np.ndarray:
    """(n_images, 1 + n_shuffles) bool: the labels as they are, and shuffled over groups."""
    _, first, places = np.unique(table.groups, return_index=True, return_inverse=True)
    rng, labels = np.random.default_rng(SEED), table.positive[first]
    shuffled = [rng.permutation(labels) for _ in range(n_shuffles)]
    return np.stack([labels, *shuffled], axis=1)[places]


def _measure(found: Vote, labels: np.ndarray, hypothesis: Hypothesis) -> np.ndarray:
    """(n_labellings,) self-consistency of the selections of one hypothesis, by labels (n_images, n_labellings)."""
    table, part = found.table, found.params.smoothing
    tables = [replace(table, positive=column) for column in labels.T]
    prior = found.params.measure_prior(table, found.connectivity, hypothesis)
    votes = smooth_along(table.adjacency, walk_all(found.graph, table, labels, prior, hypothesis.balance), part)
    first = _stack([select_separable(one, column, POWERS) for one, column in zip(tables, votes.T, strict=True)])
    shares = smooth_along(table.adjacency, found.graph @ first, part)
    second = _stack([select(one, column)[0] for one, column in zip(tables, shares.T, strict=True)])
    rows = zip(tables, second.T > 0, (found.graph @ second).T, strict=True)
    return np.array([measure_consistency(one, selected, share).score for one, selected, share in rows])


def _stack(selections: list[np.ndarray]) -> np.ndarray:
    return np.stack(selections, axis=1).astype(np.float64)


def walk_all(
    graph: sparse.csr_matrix, table: SegmentTable, labels: np.ndarray, prior: np.ndarray, balance: float
) -> np.ndarray:
    """(n_segments, n_labellings) votes of a walk of `N_STEPS` rounds for each labelling (n_images, n_labellings).

    In single precision, all walks at once: the graph, which is the largest array, is read once for all of them.
    """
    votes, factors = graph.astype(np.float32), prior.astype(np.float32)[:, None]
    inside = labels[table.images]
    pool = sparse.csr_matrix(
        (table.shares.astype(np.float32), (table.images, np.arange(len(table)))), shape=(table.n_images, len(table))
    )
    weights, tiny = inside.astype(np.float32), np.finfo(np.float32).tiny
    for _ in range(N_STEPS):
        weights = factors * (votes @ weights) * inside
        if balance:
            weights /= np.maximum(pool @ weights, tiny)[table.images] ** np.float32(balance)
        weights /= np.maximum(weights.max(axis=0), tiny)
    return (factors * (votes @ weights)).astype(np.float64)
