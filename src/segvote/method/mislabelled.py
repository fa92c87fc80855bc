"""Images that are likely in the wrong folder, by evidence they had no part in, and near-duplicates across folders.

Images are suspected in two ways that err differently: by the votes of other images for their best segments, and by a
classifier of whole images that never saw the one it judges.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.special import expit

from segvote.method.consistency import measure_power
from segvote.method.table import SegmentTable
from segvote.numerics.threads import use_one_thread

# Suspicion of an image a quarter of the distance between the folders beyond their midpoint, where both are separated
# fully: .73. With a tenth of three sets misfiled, 24 of 30 such images lie above it, and 2 others.
LIKELY = float(expit(0.25 * 4))
# At most this part of a folder is excluded: votes without negatives find anything that repeats.
MOST_EXCLUDED = 0.25
# Images of each folder that it takes to judge others.
FEWEST_JUDGES = 20
# The best part of an image that is judged: an object rarely fills more, and one odd segment should not decide.
JUDGED_SHARE = 0.2
# Weight of the classifier beside the votes, chosen by how well planted images are found.
CLASSIFIER_SHARE = 2 / 3
CLASSIFIER_FOLDS = 10
# No single opinion may outweigh the other by more than this many distances between the folders.
MOST_CENTRED = 1.5
# A distance between the folders, as a part of the range of an opinion, that counts as none.
NOT_APART = 1e-9
# Share of a bag's segments whose nearest neighbour lies in one bag of the other folder, from which both count as
# near-duplicates; pictures that were saved again have nearly all, others at most .6 on sixteen sets but for crops of
# the same picture.
NEAR_DUPLICATE = 0.7


def measure_suspicion(table: SegmentTable, scores: np.ndarray, image_logits: np.ndarray | None) -> np.ndarray:
    """(n_images,) similarity of each image to the other folder, in [0, 1]; one half: equally similar to both.

    `scores` (n_segments,) are votes of other images only, `image_logits` (n_images,) those of `classify_held_out`.
    """
    opinions = [(1 - CLASSIFIER_SHARE, table.measure_top(scores, JUDGED_SHARE))]
    if image_logits is not None:
        opinions.append((CLASSIFIER_SHARE, image_logits))
    weights = np.array([share * measure_power(values, table.positive) for share, values in opinions])
    centred = np.stack([_centre(values, table.positive) for _, values in opinions])
    like_with = weights @ centred / max(weights.sum(), np.finfo(float).tiny)
    # Where neither separates the folders, no image is suspected.
    sharpness = 4 * weights.sum() / sum(share for share, _ in opinions)
    return expit(sharpness * np.where(table.positive, -like_with, like_with))


def choose_excluded(suspicion: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """(n_images,) bool: the images that are likely mislabelled, the worst of each folder where they are too many."""
    excluded = np.zeros(len(positive), dtype=bool)
    if min(positive.sum(), (~positive).sum()) < FEWEST_JUDGES:
        return excluded
    for folder in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        worst = folder[np.argsort(-suspicion[folder], kind="stable")][: int(MOST_EXCLUDED * len(folder))]
        excluded[worst] = suspicion[worst] >= LIKELY
    return excluded


def _centre(values: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Put 0 midway between the medians of the folders, whose distance becomes 1; all 0 where they are not apart."""
    inside, outside = np.median(values[positive]), np.median(values[~positive])
    distance = float(inside - outside)
    if distance <= NOT_APART * np.ptp(values):
        return np.zeros(len(values))
    return np.clip((values - 0.5 * (inside + outside)) / distance, -MOST_CENTRED, MOST_CENTRED)


def classify_held_out(table: SegmentTable) -> np.ndarray | None:
    """(n_images,) logit of *with* by a classifier of mean features that never saw the image; None for too few."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fewest = int(min(table.positive.sum(), (~table.positive).sum()))
    if fewest < 3:
        return None
    weights, parts = table.shares.astype(table.X.dtype), map(table.get_slice, range(table.n_images))
    means = np.stack([weights[part] @ table.X[part] for part in parts])
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, class_weight="balanced", max_iter=2000))
    folds = StratifiedKFold(min(CLASSIFIER_FOLDS, fewest), shuffle=True, random_state=0)
    # One thread: the sums are short, and threads that wait for each other take several times as long.
    with use_one_thread():
        return cross_val_predict(model, means, table.positive, cv=folds, method="decision_function")


def find_near_duplicates(table: SegmentTable, nearest: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of bags, the first in the *with* and the second in the *without* folder, that look alike all over.

    `nearest` (n_segments,) is the nearest segment of another bag; -1 where there is none.
    """
    has_one, positive = nearest >= 0, table.bag_labels
    places = table.bags[has_one], table.bags[nearest[has_one]]
    counts = sparse.coo_matrix((np.ones(len(places[0])), places), shape=(len(positive),) * 2).tocsr().tocoo()
    sizes = np.diff(table.bag_offsets)
    alike = (counts.data > NEAR_DUPLICATE * sizes[counts.row]) & (positive[counts.row] != positive[counts.col])
    pairs = zip(counts.row[alike].tolist(), counts.col[alike].tolist(), strict=True)
    return sorted({(one, other) if positive[one] else (other, one) for one, other in pairs})
