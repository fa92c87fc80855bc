"""Between votes and masks: background priors, second voting, decisions, outlines."""

from segvote.refine.decide import DECISIONS, Scores, decide, learn_shift, select_above
from segvote.refine.heat import measure_doubt, scale_heat
from segvote.refine.likeness import Likeness
from segvote.refine.outlines import Outlines, measure_outlines
from segvote.refine.residual import ResidualVotes, pass_on
from segvote.refine.second_vote import vote_again
from segvote.refine.sharpen import Pieces, sharpen
from segvote.refine.survival import prefer_inside

__all__ = [
    "DECISIONS",
    "Likeness",
    "Outlines",
    "Pieces",
    "ResidualVotes",
    "Scores",
    "decide",
    "learn_shift",
    "measure_doubt",
    "measure_outlines",
    "pass_on",
    "prefer_inside",
    "scale_heat",
    "select_above",
    "sharpen",
    "vote_again",
]
