"""Voters: estimators that score the segments of *with* bags by the votes of all other segments.

The method (`METHOD`, `segvote.method`) is no voter: it is the walk with a background prior, re-vote, linear classifier
and smoothing around it. Commands take its name or that of a voter, together `SYSTEMS`.
"""

from collections.abc import Mapping
from typing import Any

from segvote.registry import Registry

__all__ = ["METHOD", "SYSTEMS", "VOTERS", "keeps_lengths", "make_voter"]

METHOD = "ekde"

VOTERS = Registry(
    "voter",
    {
        "activation": "segvote.voters.activation:ActivationMask",
        "cam": "segvote.voters.linear:CAM",
        "crane": "segvote.voters.crane:CRANE",
        "dd": "segvote.voters.diverse_density:DiverseDensity",
        "dd-svm": "segvote.voters.diverse_density:DDSVM",
        "ekde-paper": "segvote.voters.paper:PaperEKDE",
        "em-dd": "segvote.voters.diverse_density:EMDiverseDensity",
        "evidence": "segvote.voters.densities:Evidence",
        "f-neg": "segvote.voters.negatives:NegativeVotes",
        "gem-dd": "segvote.voters.diverse_density:GEMDiverseDensity",
        "knn-negatives": "segvote.voters.negatives:KNNNegatives",
        "manifold-sskde": "segvote.voters.manifold_sskde:ManifoldSSKDE",
        "mi-svm": "segvote.voters.mi_svm:MiSVM",
        "mi-svm-bag": "segvote.voters.mi_svm:BagMISVM",
        "milboost": "segvote.voters.milboost:MILBoost",
        "milboost-isr": "segvote.voters.milboost:MILBoostISR",
        "miles": "segvote.voters.miles:MILES",
        "milis": "segvote.voters.miles:MILIS",
        "negative-weighted": "segvote.voters.negatives:WeightedNegatives",
        "negmin": "segvote.voters.negatives:NegMin",
        "obow": "segvote.voters.linear:OBoW",
        "one-class": "segvote.voters.prototypes:OneClass",
        "prototype-voting": "segvote.voters.prototypes:PrototypeVoting",
        "scda": "segvote.voters.activation:AggregationMap",
        "skde": "segvote.voters.densities:SKDE",
        "sskde": "segvote.voters.sskde:SSKDE",
        "walk": "segvote.voters.walk:Walk",
        "walk-adapted": "segvote.voters.walk:AdaptedWalk",
    },
)
SYSTEMS = (METHOD, *VOTERS)


def keeps_lengths(name: str) -> bool:
    """Whether features keep their lengths for the method or a voter; otherwise their blocks have length one."""
    return name != METHOD and bool(VOTERS[name].wants_lengths)


def make_voter(name: str, options: Mapping[str, Any], finish: bool = False) -> Any:
    """A voter with its options, not fitted; `finish` adds the re-vote and the linear classifier of the method."""
    voter = VOTERS[name](**options)
    if not finish:
        return voter
    from segvote.voters.walk import Revote

    return Revote(voter)
