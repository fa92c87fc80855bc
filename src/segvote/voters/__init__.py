"""Voters: estimators that score the segments of *with* bags by the votes of all other segments."""

from segvote.registry import Registry

__all__ = ["VOTERS"]

VOTERS = Registry(
    "voter",
    {
        "activation": "segvote.voters.maps.activation:ActivationMask",
        "cam": "segvote.voters.maps.cam:CAM",
        "crane": "segvote.voters.negative.crane:CRANE",
        "dd": "segvote.voters.mil.diverse_density:DiverseDensity",
        "dd-svm": "segvote.voters.mil.dd_svm:DDSVM",
        "ekde": "segvote.voters.ekde:EKDE",
        "ekde-adapted": "segvote.voters.adapted:AdaptedEKDE",
        "ekde-paper": "segvote.voters.paper:PaperEKDE",
        "em-dd": "segvote.voters.mil.diverse_density:EMDiverseDensity",
        "evidence": "segvote.voters.density.evidence:Evidence",
        "f-neg": "segvote.voters.negative.negatives:NegativeVotes",
        "gem-dd": "segvote.voters.mil.diverse_density:GEMDiverseDensity",
        "knn-negatives": "segvote.voters.negative.negatives:KNNNegatives",
        "manifold-sskde": "segvote.voters.density.manifold:ManifoldSSKDE",
        "mi-svm": "segvote.voters.mil.mi_svm:MiSVM",
        "mi-svm-bag": "segvote.voters.mil.mi_svm:BagMISVM",
        "milboost": "segvote.voters.mil.milboost:MILBoost",
        "milboost-isr": "segvote.voters.mil.milboost:MILBoostISR",
        "miles": "segvote.voters.mil.miles:MILES",
        "milis": "segvote.voters.mil.miles:MILIS",
        "negative-weighted": "segvote.voters.negative.negatives:WeightedNegatives",
        "negmin": "segvote.voters.negative.negatives:NegMin",
        "obow": "segvote.voters.mil.obow:OBoW",
        "one-class": "segvote.voters.negative.one_class:OneClass",
        "prototype-voting": "segvote.voters.mil.prototype_voting:PrototypeVoting",
        "scda": "segvote.voters.maps.activation:AggregationMap",
        "skde": "segvote.voters.density.skde:SKDE",
        "sskde": "segvote.voters.density.sskde:SSKDE",
    },
)
