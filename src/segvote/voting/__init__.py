"""Voters: estimators that score the segments of *with* bags by the votes of all other segments."""

from segvote.registry import Registry

__all__ = ["VOTERS"]

VOTERS = Registry(
    "voter",
    {},
)
