"""The permutation test of a vote: does it select as consistently with shuffled folder labels?

Walks of a few rounds and one re-vote are held for all labellings alike, as the columns of one matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segvote.method.consistency import measure_consistency
from segvote.method.hypotheses import Hypothesis, VoteInputs
from segvote.method.table import SegmentTable
from segvote.method.threshold import select, select_separable
from segvote.method.walk import walk

# 19 shuffles, so that the smallest p-value is 0.05; rounds of a walk, and exponents tried on its votes, fewer than in a
# vote.
N_SHUFFLES, N_SHUFFLED_STEPS, SHUFFLED_POWERS = 19, 12, (1.0, 0.5, 0.25)
SEED = 0


@dataclass(frozen=True)
class PermutationTest:
    """Highest self-consistency over the hypotheses, with the folder labels as they are and with shuffled ones."""

    observed: float
    shuffled: np.ndarray  # (n_shuffles,)

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


def run_permutation_test(inputs: VoteInputs, n_shuffles: int = N_SHUFFLES) -> PermutationTest:
    """Hold the vote with shuffled folder labels on the same graph; images of one bag keep the same label."""
    labels = shuffle_labels(inputs.table, n_shuffles)
    hypotheses = inputs.params.hypotheses
    scores = np.max([_measure_labellings(inputs, labels, hypothesis) for hypothesis in hypotheses], axis=0)
    return PermutationTest(float(scores[0]), scores[1:])


def shuffle_labels(table: SegmentTable, n_shuffles: int) -> np.ndarray:
    """(n_images, 1 + n_shuffles) bool: the labels as they are, and shuffled over bags."""
    rng, labels = np.random.default_rng(SEED), table.bag_labels
    return np.stack([labels, *(rng.permutation(labels) for _ in range(n_shuffles))], axis=1)[table.image_bags]


def _measure_labellings(inputs: VoteInputs, labels: np.ndarray, hypothesis: Hypothesis) -> np.ndarray:
    """(n_labellings,) self-consistency of the selections of one hypothesis, by labels (n_images, n_labellings)."""
    table, graph, part = inputs.table, inputs.graph, inputs.params.smoothing
    tables = [table.relabel_images(column) for column in labels.T]
    # In single precision: the graph, which is the largest array, is read once for all labellings.
    prior = inputs.measure_prior(hypothesis).astype(np.float32)
    votes = walk(table, graph.astype(np.float32), prior, labels[table.images], hypothesis.balance, N_SHUFFLED_STEPS)
    columns = zip(tables, table.smooth(votes.astype(np.float64), part).T, strict=True)
    first = np.stack([select_separable(own, column, SHUFFLED_POWERS) for own, column in columns], axis=1)
    shares = table.smooth(graph @ first.astype(np.float64), part)
    second = np.stack([select(own, column)[0] for own, column in zip(tables, shares.T, strict=True)], axis=1)
    rows = zip(tables, second.T, (graph @ second.astype(np.float64)).T, strict=True)
    return np.array([measure_consistency(*row) for row in rows])
