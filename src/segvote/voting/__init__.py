"""Voters: estimators that score the segments of *with* bags by the votes of all other segments."""

from segvote.registry import Registry

__all__ = ["VOTERS"]

VOTERS = Registry(
    "voter",
    {
        "cam": "segvote.voting.cam:CAM",
        "crane": "segvote.voting.crane:CRANE",
        "dd": "segvote.voting.diverse_density:DiverseDensity",
        "dd-svm": "segvote.voting.dd_svm:DDSVM",
        "ekde": "segvote.voting.ekde:EKDE",
        "ekde-paper": "segvote.voting.paper:PaperEKDE",
        "em-dd": "segvote.voting.diverse_density:EMDiverseDensity",
        "evidence": "segvote.voting.evidence:Evidence",
        "f-neg": "segvote.voting.negatives:NegativeVotes",
        "gem-dd": "segvote.voting.diverse_density:GEMDiverseDensity",
        "knn-negatives": "segvote.voting.knn_negatives:KNNNegatives",
        "mi-svm": "segvote.voting.mi_svm:MiSVM",
        "mi-svm-bag": "segvote.voting.mi_svm:BagMISVM",
        "milboost": "segvote.voting.milboost:MILBoost",
        "milboost-isr": "segvote.voting.milboost:MILBoostISR",
        "miles": "segvote.voting.miles:MILES",
        "milis": "segvote.voting.miles:MILIS",
        "negmin": "segvote.voting.negatives:NegMin",
        "obow": "segvote.voting.obow:OBoW",
        "one-class": "segvote.voting.one_class:OneClass",
        "skde": "segvote.voting.skde:SKDE",
        "sskde": "segvote.voting.sskde:SSKDE",
    },
)
