"""Between votes and masks: background priors, second voting, decisions, outlines."""

from segvote.refine.decide import DECISIONS, Scores, decide
from segvote.refine.heat import measure_doubt, scale_heat
from segvote.refine.second_vote import vote_again
from segvote.refine.sharpen import Pieces, sharpen
from segvote.refine.survival import prefer_inside

__all__ = [
    "DECISIONS",
    "Pieces",
    "Scores",
    "decide",
    "measure_doubt",
    "prefer_inside",
    "scale_heat",
    "sharpen",
    "vote_again",
]
