"""What a score means for an image never seen: how often an image without the object scores as high, and how probable it
is that the image shows it. Learned from the training images, each scored by a vote it had no part in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from segvote.errors import BadInputError
from segvote.method.held_out import measure_p_value
from segvote.run.settings import Settings
from segvote.voters import make_voter

# Groups of images that are left out of the vote together.
N_FOLDS = 10


@dataclass(frozen=True)
class Calibration:
    """Scores of training images held out of the vote."""

    negatives: np.ndarray  # (n_without,) best segment's score of each *without* image, ascending
    slope: float  # of the logistic curve from score to probability
    offset: float

    @property
    def lowest_rate(self) -> float:
        """The smallest false-positive rate that so few *without* images allow."""
        return 1 / (len(self.negatives) + 1)

    def measure_p_value(self, scores: np.ndarray) -> np.ndarray:
        """(n,) share of images without the object that score at least as high, see `segvote.method.held_out`."""
        return measure_p_value(scores, self.negatives)

    def find_threshold(self, rate: float) -> float:
        """The score above which the p-value is at most `rate`; for a rate below `lowest_rate` that of `lowest_rate`."""
        n_false = int(np.floor(rate * (len(self.negatives) + 1) + 1e-9))
        return float(self.negatives[-int(np.clip(n_false, 1, len(self.negatives)))])

    def measure_probability(self, scores: np.ndarray) -> np.ndarray:
        """(n,) probability that an image shows the object, if that is as common as in the training folders."""
        return expit(self.slope * np.asarray(scores) + self.offset)


def calibrate(scores: np.ndarray, bag_labels: np.ndarray) -> Calibration:
    """Learn what scores mean from the best segment's score of each training image, held out of the vote (n_bags,).

    An image shows the object where its bag label (n_bags,) is True.
    """
    if bag_labels.all() or not bag_labels.any():
        raise BadInputError("expected training images with and without the object, got one kind only; annotate again")
    slope, offset = _fit_curve(scores, bag_labels)
    return Calibration(np.sort(scores[~bag_labels]), slope, offset)


def _fit_curve(scores: np.ndarray, bag_labels: np.ndarray) -> tuple[float, float]:
    """Logistic curve by maximum likelihood with a mild prior on the slope, so that clean data cannot make it a step."""
    from sklearn.linear_model import LogisticRegression

    centre, scale = float(scores.mean()), float(scores.std()) or 1.0
    model = LogisticRegression(C=1.0).fit(((scores - centre) / scale)[:, None], bag_labels)
    # Scores that fall where the object is say nothing; they must not say the opposite.
    steepness = max(float(model.coef_[0, 0]), 0.0)
    return steepness / scale, float(model.intercept_[0]) - steepness * centre / scale


def score_images(scores: np.ndarray, bags: np.ndarray) -> np.ndarray:
    """(n_bags,) best segment of each bag, by scores (n_segments,); numbers of the bags ascend, none is missing."""
    return np.maximum.reduceat(scores, np.flatnonzero(np.diff(bags, prepend=-1)))


def score_by_refits(
    settings: Settings,
    X: np.ndarray,
    bag_labels: np.ndarray,
    bags: np.ndarray,
    prior: np.ndarray,
    user_labels: np.ndarray,
) -> np.ndarray:
    """(n_segments,) votes, each bag scored by a voter that was fitted without it; works for every voter."""
    votes = np.empty(len(X))
    n_folds = min(N_FOLDS, int(bag_labels.sum()), int((~bag_labels).sum()))
    if n_folds < 2:
        raise BadInputError("calibration needs two training images of each kind at least; annotate with more images")
    folds = _make_folds(bag_labels, n_folds)[bags]
    for fold in range(n_folds):
        out = folds == fold
        voter = make_voter(settings.voter, settings.voter_options, settings.finish)
        voter.fit(X[~out], bag_labels[bags[~out]], bags=bags[~out], prior=prior[~out], user_labels=user_labels[~out])
        votes[out] = voter.decision_function(X[out])
    return votes


def _make_folds(bag_labels: np.ndarray, n_folds: int) -> np.ndarray:
    """(n_bags,) number of each bag's fold: both kinds spread evenly."""
    folds = np.empty(len(bag_labels), dtype=np.int64)
    for side in (bag_labels, ~bag_labels):
        folds[side] = np.arange(side.sum()) % n_folds
    return folds
