"""Several walks and what they agree on: no single prior is right for every folder.

Dogs on lawns need a prior against what is connected to the border, faces that fill the image are hurt by it; objects
that vary need every image to have the same voice, rare defects the opposite. All hypotheses share one neighbour graph,
so that each costs little. Each ends in a selection, and counts by how well that selection agrees with itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from segvote.method.ballot import Ballot
from segvote.method.consistency import Consistency, measure_consistency, measure_outline_contrast
from segvote.method.walk import Voice, walk

# How much self-consistency makes one hypothesis e times as heavy as another.
TEMPERATURE = 0.02
# What an outline with e times the contrast is worth, in self-consistency.
CONTRAST_WEIGHT = 0.2
# Rounds with hard labels after the walk.
N_REVOTES = 2


@dataclass(frozen=True)
class Hypothesis:
    """Assumptions of one walk.

    Attributes
    ----------
    balance : float
        Exponent that gives every image the same voice, see `Voice`.
    connectivity : float
        Strength of the prior against what is connected to the image border.
    """

    balance: float
    connectivity: float


HYPOTHESES = (Hypothesis(0.0, 0.0), Hypothesis(0.25, 0.0), Hypothesis(0.25, 0.3))


@dataclass(frozen=True)
class Agreement:
    """What the hypotheses came to.

    Attributes
    ----------
    judgements : (n_hypotheses,)
        Self-consistency of each, and what the contrast of its outlines is worth.
    weights : (n_hypotheses,)
        exp(judgement / temperature), made to sum to one.
    labels : (n_segments,)
        Weighted mean of the selections, in [0, 1].
    selections : (n_hypotheses, n_segments) bool
        Of each.
    consistencies : tuple of Consistency
        Of each.
    """

    judgements: np.ndarray
    weights: np.ndarray
    labels: np.ndarray
    selections: np.ndarray
    consistencies: tuple[Consistency, ...]

    @property
    def best(self) -> int:
        """Number of the hypothesis that counts most."""
        return int(np.argmax(self.weights))

    @property
    def score(self) -> float:
        """Self-consistency, weighted like the selections."""
        return float(self.weights @ [consistency.score for consistency in self.consistencies])


def weigh_hypotheses(
    ballot: Ballot,
    border_prior: np.ndarray,
    connectivity: np.ndarray,
    n_steps: int,
    graph: sparse.csr_matrix | None = None,
    hypotheses: Sequence[Hypothesis] = HYPOTHESES,
) -> Agreement:
    """Walk under each hypothesis, vote twice more with hard labels, and weigh what comes out.

    Parameters
    ----------
    ballot : Ballot
        What is voted on.
    border_prior, connectivity : (n_segments,)
        Prior common to all; how much each segment is connected to the border, in [0, 1].
    n_steps : int
        Of each walk.
    graph : (n_segments, n_segments) sparse, optional
        Other votes to walk and re-vote over; what comes out is judged on those of the ballot all the same.
    """
    walked = ballot if graph is None else replace(ballot, graph=graph)
    selections, found, judged = [], [], []
    for hypothesis in hypotheses:
        prior = border_prior * (1 - hypothesis.connectivity * connectivity)
        free = _select_first(walked, prior, hypothesis.balance, n_steps)
        selected = ballot.obey(free)
        for _ in range(N_REVOTES):
            selected = walked.revote(selected)
        found.append(measure_consistency(ballot.table, selected, ballot.count_share(selected)))
        contrast = np.log(max(measure_outline_contrast(ballot.table, selected), 0.1))
        judged.append(found[-1].score + CONTRAST_WEIGHT * contrast + _measure_obedience(ballot, free))
        selections.append(selected)
    judgements = np.array(judged)
    weights = np.exp((judgements - judgements.max()) / TEMPERATURE)
    weights /= weights.sum()
    labels = weights @ np.array(selections, dtype=float)
    return Agreement(judgements, weights, labels, np.array(selections), tuple(found))


def _select_first(ballot: Ballot, prior: np.ndarray, balance: float, n_steps: int) -> np.ndarray:
    voters, table = ballot.voters, ballot.table
    voice = Voice(table.images[voters], table.shares[voters], balance)
    return ballot.select_separable(ballot.smooth(walk(ballot.graph, prior, voters, voice, n_steps)))


def _measure_obedience(ballot: Ballot, selected: np.ndarray) -> float:
    """Part of the user's labels that a selection found by itself; 0 where there are none."""
    told = ballot.user_labels >= 0
    return float((selected[told] == (ballot.user_labels[told] == 1)).mean()) if told.any() else 0.0


# From user labels ----------------------------------------------------------------------------------------------------


def select_seeded(ballot: Ballot, n_steps: int) -> np.ndarray:
    """(n_segments,) bool: the object by a walk of `n_steps` rounds that starts from user labels.

    Where a run failed, a handful of labels says what the object is; nothing is assumed about the background, so that
    nothing of the failed vote is left in it.
    """
    selected = ballot.obey(ballot.select_separable(ballot.smooth(walk_from_labels(ballot, n_steps))))
    for _ in range(N_REVOTES):
        selected = ballot.revote(selected)
    return selected


def walk_from_labels(ballot: Ballot, n_steps: int) -> np.ndarray:
    """(n_segments,) chance in [0, 1] to meet an object label first, within `n_steps` steps.

    Every segment without a label takes the mean of its neighbours, again and again, while user labels keep theirs and
    *without* segments stay background: the harmonic function of label propagation.
    """
    free = np.flatnonzero(ballot.table.is_candidate & (ballot.user_labels < 0))
    votes, weights = ballot.graph[free], (ballot.user_labels == 1).astype(np.float64)
    for _ in range(n_steps):
        weights[free] = votes @ weights
    return weights
