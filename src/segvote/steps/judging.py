"""In which folder does an image belong? Judged by the others alone, in two ways that err differently.

The votes ask whether something in the image is like what the *with* images share; a classifier of whole images, which
never saw the one it judges, asks what the image looks like as a whole.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from segvote.steps.table import Table

__all__ = ["SUSPECT", "choose_muted", "classify_held_out", "judge_bags", "measure_evidence", "measure_power"]

# From here on an image is more like the other folder than like its own.
SUSPECT = 0.5
# Of the *without* bags at most this part loses its say: a vote without negatives finds anything that repeats.
MOST_MUTED = 0.25
# Bags of each folder that it takes to judge others: of ten and ten street photographs the wrong ones were muted.
FEWEST_JUDGES = 20

# The best part of an image that is looked at: a thing rarely fills more, and one odd segment should not decide.
TOP_SHARE = 0.2
# What the classifier counts beside the votes: planted images were found best so.
CLASSIFIER_SHARE = 2 / 3
N_FOLDS = 10
# No single opinion may outweigh the other by more than this many distances between the folders.
MOST = 1.5
# Part of the range of an opinion that tells nothing.
NOT_APART = 1e-9


def judge_bags(table: Table, votes: np.ndarray) -> np.ndarray:
    """How much each bag is like the other folder.

    Parameters
    ----------
    table
        Segments of all bags.
    votes
        (n_segments,) scores heard from other bags only.

    Returns
    -------
    (n_bags,) in [0, 1]; one half is as like one folder as the other.
    """
    opinions = [(1 - CLASSIFIER_SHARE, measure_evidence(table, votes))]
    classes = classify_held_out(table)
    if classes is not None:
        opinions.append((CLASSIFIER_SHARE, classes))
    weights = np.array([share * measure_power(values, table.tags) for share, values in opinions])
    centred = np.stack([_centre(values, table.tags) for _, values in opinions])
    like_with = weights @ centred / max(weights.sum(), np.finfo(float).tiny)
    # Where neither can tell the folders apart, nobody is suspect.
    sharpness = 4 * weights.sum() / sum(share for share, _ in opinions)
    return expit(sharpness * np.where(table.tags, -like_with, like_with))


def choose_muted(suspicions: np.ndarray, tags: np.ndarray) -> np.ndarray:
    """(n_bags,) bool: the *without* bags that are suspect, the worst of them where they are too many.

    Parameters
    ----------
    suspicions
        (n_bags,) of `judge_bags`.
    tags
        (n_bags,) bool: the bag is *with*.
    """
    if min(tags.sum(), (~tags).sum()) < FEWEST_JUDGES:
        return np.zeros(len(tags), dtype=bool)
    outside = np.flatnonzero(~tags)
    worst = outside[np.argsort(-suspicions[outside], kind="stable")][: int(MOST_MUTED * len(outside))]
    muted = np.zeros(len(tags), dtype=bool)
    muted[worst] = suspicions[worst] >= SUSPECT
    return muted


def measure_power(values: np.ndarray, tags: np.ndarray) -> float:
    """How well an opinion tells the folders apart: 0 not at all, 1 without a mistake (2 AUC - 1)."""
    from sklearn.metrics import roc_auc_score

    return max(0.0, 2 * float(roc_auc_score(tags, values)) - 1)


def _centre(values: np.ndarray, tags: np.ndarray) -> np.ndarray:
    """Put 0 midway between the medians of the folders, whose distance becomes 1; all 0 where they are not apart."""
    inside, outside = np.median(values[tags]), np.median(values[~tags])
    distance = float(inside - outside)
    if distance <= NOT_APART * np.ptp(values):
        return np.zeros(len(values))
    return np.clip((values - 0.5 * (inside + outside)) / distance, -MOST, MOST)


def measure_evidence(table: Table, votes: np.ndarray, share: float = TOP_SHARE) -> np.ndarray:
    """(n_bags,) mean score of the best `share` of each image's area."""
    evidence = []
    for scores, areas in zip(table.split(votes), table.split(table.areas), strict=True):
        order = np.argsort(-scores, kind="stable")
        before = np.concatenate([[0], np.cumsum(areas[order])[:-1]])
        taken = np.clip(share * areas.sum() - before, 0, areas[order])
        evidence.append((taken * scores[order]).sum() / taken.sum())
    return np.array(evidence)


def classify_held_out(table: Table) -> np.ndarray | None:
    """(n_bags,) logit of *with* by a classifier of mean features that never saw the bag; None for too few bags."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fewest = int(min(table.tags.sum(), (~table.tags).sum()))
    if fewest < 3:
        return None
    bags = zip(np.split(table.X, table.offsets[1:-1]), table.split(table.areas), strict=True)
    means = np.stack([np.average(X, axis=0, weights=areas) for X, areas in bags])
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, class_weight="balanced", max_iter=2000))
    folds = StratifiedKFold(min(N_FOLDS, fewest), shuffle=True, random_state=0)
    return cross_val_predict(model, means, table.tags, cv=folds, method="decision_function")
