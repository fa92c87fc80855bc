"""Between votes and masks: background priors, second voting, decisions, outlines."""

from segvote.method.decide import DECISIONS, Scores, decide, learn_shift, select_above
from segvote.method.likeness import Likeness
from segvote.method.outlines import Outlines, measure_outlines
from segvote.method.residual import ResidualVotes, pass_on
from segvote.method.second_vote import vote_again
from segvote.method.survival import prefer_inside

__all__ = [
    "DECISIONS",
    "Likeness",
    "Outlines",
    "ResidualVotes",
    "Scores",
    "decide",
    "learn_shift",
    "measure_outlines",
    "pass_on",
    "prefer_inside",
    "select_above",
    "vote_again",
]
