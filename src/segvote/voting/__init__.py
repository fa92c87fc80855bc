"""Voters: estimators that score the segments of *with* bags by the votes of all other segments."""

from segvote.registry import Registry

__all__ = ["VOTERS"]

VOTERS = Registry(
    "voter",
    {
        "crane": "segvote.voting.crane:CRANE",
        "ekde": "segvote.voting.ekde:EKDE",
        "ekde-paper": "segvote.voting.paper:PaperEKDE",
        "f-neg": "segvote.voting.negatives:NegativeVotes",
        "negmin": "segvote.voting.negatives:NegMin",
    },
)
