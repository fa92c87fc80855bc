"""Which images are likely in the wrong folder? Judged by the others alone, in two ways that err differently.

The votes ask whether something in the image is like what the *with* images share; a classifier of whole images, which
never saw the one it judges, asks what the image looks like as a whole.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.special import expit
from threadpoolctl import threadpool_limits

from segvote.method.table import SegmentTable

# A suspicion from which an image counts as likely mislabelled; one half is midway between the folders. With a tenth of
# three sets misfiled, 24 of 30 such images lie above it, and 2 others.
LIKELY = float(expit(0.25 * 4))
# At most this part of a folder is excluded: votes without negatives find anything that repeats.
MOST_EXCLUDED = 0.25
# Images of each folder that it takes to judge others.
FEWEST_JUDGES = 20
# The best part of an image that is looked at: an object rarely fills more, and one odd segment should not decide.
TOP_SHARE = 0.2
# What the classifier counts beside the votes: planted images were found best so.
CLASSIFIER_SHARE = 2 / 3
N_FOLDS = 10
# No single opinion may outweigh the other by more than this many distances between the folders.
MOST = 1.5
# Part of the range of an opinion that tells nothing.
NOT_APART = 1e-9
# Share of an image's segments whose nearest neighbour lies in one image of the other folder, from which both count as
# near-duplicates; pictures that were saved again have nearly all, others at most .6 on sixteen sets but for crops of
# the same picture.
NEAR_DUPLICATE = 0.7


def measure_suspicion(table: SegmentTable, scores: np.ndarray) -> np.ndarray:
    """How much each image is like the other folder.

    Parameters
    ----------
    table : SegmentTable
        Segments of all images.
    scores : (n_segments,)
        Votes of other images only.

    Returns
    -------
    (n_images,) in [0, 1]; one half is as like one folder as the other.
    """
    opinions = [(1 - CLASSIFIER_SHARE, table.measure_top(scores, TOP_SHARE))]
    classes = classify_held_out(table)
    if classes is not None:
        opinions.append((CLASSIFIER_SHARE, classes))
    weights = np.array([share * _measure_power(values, table.positive) for share, values in opinions])
    centred = np.stack([_centre(values, table.positive) for _, values in opinions])
    like_with = weights @ centred / max(weights.sum(), np.finfo(float).tiny)
    # Where neither can tell the folders apart, no image is suspected.
    sharpness = 4 * weights.sum() / sum(share for share, _ in opinions)
    return expit(sharpness * np.where(table.positive, -like_with, like_with))


def choose_excluded(suspicions: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """(n_images,) bool: the images that are likely mislabelled, the worst of each folder where they are too many.

    Parameters
    ----------
    suspicions : (n_images,)
        Of `measure_suspicion`.
    positive : (n_images,) bool
        The image is in the *with* folder.
    """
    excluded = np.zeros(len(positive), dtype=bool)
    if min(positive.sum(), (~positive).sum()) < FEWEST_JUDGES:
        return excluded
    for folder in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        worst = folder[np.argsort(-suspicions[folder], kind="stable")][: int(MOST_EXCLUDED * len(folder))]
        excluded[worst] = suspicions[worst] >= LIKELY
    return excluded


def _measure_power(values: np.ndarray, positive: np.ndarray) -> float:
    """How well an opinion tells the folders apart: 0 not at all, 1 without a mistake (2 AUC - 1)."""
    from sklearn.metrics import roc_auc_score

    return max(0.0, 2 * float(roc_auc_score(positive, values)) - 1)


def _centre(values: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Put 0 midway between the medians of the folders, whose distance becomes 1; all 0 where they are not apart."""
    inside, outside = np.median(values[positive]), np.median(values[~positive])
    distance = float(inside - outside)
    if distance <= NOT_APART * np.ptp(values):
        return np.zeros(len(values))
    return np.clip((values - 0.5 * (inside + outside)) / distance, -MOST, MOST)


def classify_held_out(table: SegmentTable) -> np.ndarray | None:
    """(n_images,) logit of *with* by a classifier of mean features that never saw the image; None for too few."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fewest = int(min(table.positive.sum(), (~table.positive).sum()))
    if fewest < 3:
        return None
    weights = table.shares.astype(table.X.dtype)
    means = np.stack(
        [weights[part] @ table.X[part] for part in (table.get_slice(image) for image in range(table.n_images))]
    )
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, class_weight="balanced", max_iter=2000))
    folds = StratifiedKFold(min(N_FOLDS, fewest), shuffle=True, random_state=0)
    # One thread: the sums are short, and threads that wait for each other take several times as long.
    with threadpool_limits(limits=1):
        return cross_val_predict(model, means, table.positive, cv=folds, method="decision_function")


def find_near_duplicates(table: SegmentTable, graph: sparse.csr_matrix) -> list[tuple[int, int]]:
    """Pairs of groups, one in each folder, of which one looks like the other all over.

    Parameters
    ----------
    table : SegmentTable
        The segments.
    graph : (n_segments, n_segments) sparse
        Of `segvote.method.graph.search_graph`: the nearest neighbour of a segment has the largest vote.
    """
    groups, filled = table.groups[table.images], np.diff(graph.indptr) > 0
    best = np.maximum.reduceat(graph.data, graph.indptr[:-1][filled]) if filled.any() else np.empty(0)
    largest = graph.data == np.repeat(best, np.diff(graph.indptr)[filled])
    rows = np.repeat(np.arange(len(table)), np.diff(graph.indptr))[largest]
    rows, first = np.unique(rows, return_index=True)
    n_groups = int(table.groups[-1]) + 1
    near = sparse.csr_matrix(
        (np.ones(len(rows)), (groups[rows], groups[graph.indices[largest][first]])), shape=(n_groups, n_groups)
    ).tocoo()
    positive = np.zeros(n_groups, dtype=bool)
    positive[table.groups] = table.positive
    sizes = np.bincount(groups, minlength=n_groups)
    alike = (near.data > NEAR_DUPLICATE * sizes[near.row]) & (positive[near.row] != positive[near.col])
    pairs = zip(near.row[alike].tolist(), near.col[alike].tolist(), strict=True)
    return sorted({(one, other) if positive[one] else (other, one) for one, other in pairs})
