"""Voters: estimators that score the segments of *with* bags by the votes of all other segments."""

from segvote.registry import Registry

__all__ = ["VOTERS"]

VOTERS = Registry(
    "voter",
    {
        "cam": "segvote.voters.cam:CAM",
        "crane": "segvote.voters.crane:CRANE",
        "dd": "segvote.voters.diverse_density:DiverseDensity",
        "dd-svm": "segvote.voters.dd_svm:DDSVM",
        "ekde": "segvote.voters.ekde:EKDE",
        "ekde-paper": "segvote.voters.paper:PaperEKDE",
        "em-dd": "segvote.voters.diverse_density:EMDiverseDensity",
        "evidence": "segvote.voters.evidence:Evidence",
        "f-neg": "segvote.voters.negatives:NegativeVotes",
        "gem-dd": "segvote.voters.diverse_density:GEMDiverseDensity",
        "knn-negatives": "segvote.voters.knn_negatives:KNNNegatives",
        "mi-svm": "segvote.voters.mi_svm:MiSVM",
        "mi-svm-bag": "segvote.voters.mi_svm:BagMISVM",
        "milboost": "segvote.voters.milboost:MILBoost",
        "milboost-isr": "segvote.voters.milboost:MILBoostISR",
        "miles": "segvote.voters.miles:MILES",
        "milis": "segvote.voters.miles:MILIS",
        "negmin": "segvote.voters.negatives:NegMin",
        "obow": "segvote.voters.obow:OBoW",
        "one-class": "segvote.voters.one_class:OneClass",
        "skde": "segvote.voters.skde:SKDE",
        "sskde": "segvote.voters.sskde:SSKDE",
    },
)
