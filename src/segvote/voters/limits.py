"""How many pairs of segments a quadratic voter looks at before it says so instead of running for ever."""

from __future__ import annotations

from segvote.errors import TooLargeError

__all__ = ["MAX_PAIRS", "check_pairs"]

# A hundred thousand segments with a hundred thousand: a few minutes on one processor.
MAX_PAIRS = 10**10


def check_pairs(voter: str, n_segments: int, n_voters: int, max_pairs: int) -> None:
    """Refuse more than `max_pairs` pairs.

    Parameters
    ----------
    voter
        What looks at them, as the sentence begins.
    n_segments, n_voters
        Of the two sides.
    max_pairs
        The voter's own parameter.
    """
    if n_segments * n_voters > max_pairs:
        raise TooLargeError(
            f"{voter} looks at all pairs of segments, at most {max_pairs:.0e}; got {n_segments} x {n_voters}. "
            "Use voter ekde, or fewer segments or images"
        )
