"""The walk from user labels: where a run failed, a handful of them says what the object is.

Every segment without a label takes the mean of its neighbours, again and again, while user labels keep theirs and
*without* segments stay background: the probability that a walk over the votes meets an object label first (the harmonic
function of label propagation). Nothing is assumed about the background, so that nothing of a failed vote is left in it.
"""

from __future__ import annotations

import numpy as np

from segvote.method.ballot import Ballot

__all__ = ["select_seeded", "walk_from_labels"]

# Rounds with hard labels after the walk, as after every other.
N_REVOTES = 2


def select_seeded(ballot: Ballot, n_steps: int) -> np.ndarray:
    """(n_segments,) bool: the object by a walk of `n_steps` rounds that starts from user labels."""
    selected = ballot.obey(ballot.select_separable(ballot.smooth(walk_from_labels(ballot, n_steps))))
    for _ in range(N_REVOTES):
        selected = ballot.revote(selected)
    return selected


def walk_from_labels(ballot: Ballot, n_steps: int) -> np.ndarray:
    """(n_segments,) chance in [0, 1] to meet an object label first, within `n_steps` steps."""
    free = np.flatnonzero(ballot.table.is_candidate & (ballot.user_labels < 0))
    votes, weights = ballot.graph[free], (ballot.user_labels == 1).astype(np.float64)
    for _ in range(n_steps):
        weights[free] = votes @ weights
    return weights
