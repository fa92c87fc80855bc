"""How features are scaled for a voter: by what suits it, or as the name of the features says."""

from __future__ import annotations

from segvote.voters import VOTERS

__all__ = ["LENGTHS", "UNIT", "cut_ending", "wants_lengths"]

# After the name of features: their vectors as long as they are, or blocks of length one, whatever suits a voter.
LENGTHS, UNIT = ":lengths", ":unit"


def wants_lengths(features: str, voter: str) -> bool:
    """Whether a voter gets vectors with their lengths: what suits it, unless the name of the features says which."""
    if features.endswith((LENGTHS, UNIT)):
        return features.endswith(LENGTHS)
    return bool(VOTERS[voter].wants_lengths)


def cut_ending(features: str) -> str:
    """The name of features without ``:lengths`` or ``:unit``."""
    return features.removesuffix(LENGTHS).removesuffix(UNIT)
