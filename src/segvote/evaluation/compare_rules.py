"""Three ways from one voter's scores to masks, so that a voter is never judged by a rule that another one chose.

``common``: second voting, then the decision rule of the settings, the same for all. ``own``: the voter's own threshold,
one segment per image for negative mining. ``matched``: as many segments in all as eKDE selected by the common rule,
which is how the paper sets CRANE's threshold.
"""

from __future__ import annotations

import numpy as np

from segvote.run.settings import Settings
from segvote.steps.table import Table
from segvote.steps.vote import decide_votes
from segvote.voters.thresholds import match_count

__all__ = ["RULES", "decide_by_rules"]

RULES = ("common", "own", "matched")
# Their papers take the best segment of each image.
BEST_SEGMENT = frozenset({"negmin"})
# Their threshold in the paper follows eKDE's count.
COUNT_MATCHED = frozenset({"crane"})


def decide_by_rules(
    table: Table, votes: np.ndarray, settings: Settings, n_matched: int
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Decide by all rules.

    Parameters
    ----------
    table
        The segments.
    votes
        (n_segments,) scores of one voter.
    settings
        Whose second voting and decision are the common rule.
    n_matched
        Number of segments for ``matched``.

    Returns
    -------
    scores, thresholds
        (n_segments,) and (n_bags,) of the common rule.
    decisions
        Rule to (n_segments,) bool.
    """
    scores, thresholds, common = decide_votes(table, votes, settings)
    matched = _select_count(table, votes, n_matched)
    own = {**dict.fromkeys(BEST_SEGMENT, _select_best), **dict.fromkeys(COUNT_MATCHED, lambda *_: matched)}
    select = own.get(settings.voter, _select_positive)
    return scores, thresholds, {"common": common, "own": select(table, votes), "matched": matched}


def _select_positive(table: Table, votes: np.ndarray) -> np.ndarray:
    return (votes > 0) & table.positive[table.bags]


def _select_best(table: Table, votes: np.ndarray) -> np.ndarray:
    selected = np.zeros(len(votes), dtype=bool)
    for index in np.flatnonzero(table.positive):
        start, stop = table.offsets[index], table.offsets[index + 1]
        selected[start + np.argmax(votes[start:stop])] = True
    return selected


def _select_count(table: Table, votes: np.ndarray, n_selected: int) -> np.ndarray:
    shown = table.positive[table.bags]
    return (votes > match_count(votes[shown], n_selected)) & shown
