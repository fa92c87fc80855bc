"""Signed contributions of single segments to one segment's score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from segvote.method.vote import Vote


@dataclass(frozen=True)
class Explanation:
    """The votes for one segment. ``amounts.sum() + constant`` is its score.

    Attributes
    ----------
    voters : (m,) int
        Training segments that voted.
    amounts : (m,) float
        What each added, positive for and negative against.
    bags, bag_amounts : (n,)
        The bags those segments belong to, and the sum of the amounts of each.
    constant : float
        The intercept: what no single segment contributed.
    score : float
        The segment's score, as `decision_function` gives it.
    """

    voters: np.ndarray
    amounts: np.ndarray
    bags: np.ndarray
    bag_amounts: np.ndarray
    constant: float
    score: float


def group_by_bag(voters: np.ndarray, amounts: np.ndarray, bags: np.ndarray, constant: float = 0.0) -> Explanation:
    """Make an `Explanation`; `bags` are the bag ids of all training segments."""
    names, codes = np.unique(bags[voters], return_inverse=True)
    bag_amounts = np.bincount(codes, weights=amounts, minlength=len(names))
    return Explanation(voters, amounts, names, bag_amounts, float(constant), float(amounts.sum() + constant))


def explain_vote(found: Vote, segment: int) -> Explanation:
    """Which segments voted for a training segment before smoothing.

    Every neighbour adds what it votes less the threshold; the constant is the linear classifier's part.
    """
    row = found.counted_graph[[segment]]
    amounts = row.data * (found.inside * found.labels[row.indices] - found.threshold)
    linear = (1 - found.inside) * float(found.posterior.measure(found.table.X[[segment]])[0])
    constant = linear - found.threshold * (1 - row.data.sum())
    return group_by_bag(row.indices.astype(np.int64), amounts, found.table.images, constant)
