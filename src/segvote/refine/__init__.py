"""Between votes and masks: background priors, second voting, decisions, outlines."""

from segvote.refine.decide import DECISIONS, Scores, decide, learn_shift
from segvote.refine.heat import measure_doubt, scale_heat
from segvote.refine.outlines import Outlines, measure_outlines
from segvote.refine.second_vote import vote_again
from segvote.refine.sharpen import Pieces, sharpen
from segvote.refine.survival import prefer_inside

__all__ = [
    "DECISIONS",
    "Outlines",
    "Pieces",
    "Scores",
    "decide",
    "learn_shift",
    "measure_doubt",
    "measure_outlines",
    "prefer_inside",
    "scale_heat",
    "sharpen",
    "vote_again",
]
