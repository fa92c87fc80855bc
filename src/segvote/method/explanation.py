"""Who voted: the signed contributions that make up one segment's score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Explanation:
    """The votes one segment got. ``amounts.sum() + constant`` is its score.

    Attributes
    ----------
    voters
        (m,) int: training segments that voted.
    amounts
        (m,) float: what each added, positive for and negative against.
    bags, bag_amounts
        The bags those segments belong to, and the sum of the amounts of each.
    constant
        What no single segment is answerable for (a learned threshold, an intercept).
    score
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
