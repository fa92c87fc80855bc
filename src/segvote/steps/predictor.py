"""Prediction for single images: scores of their segments, p-value, probability, mask.

Everything is in memory; `segvote.steps.predict` does the same for folders and keeps files. A score is calibrated on
the training images, each scored by a vote it had no part in: how often an image without the object scores as high, and
how probable it is that an image shows the object.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.special import expit

from segvote.errors import BadInputError, DamagedFileError
from segvote.masks import Decided, scale_heat
from segvote.method.decide import DECISIONS, check_decision
from segvote.method.extents import find_reach, select_unseen
from segvote.method.held_out import measure_p_value
from segvote.method.hypotheses import VoteParams
from segvote.method.linear import LinearPosterior
from segvote.method.table import SegmentTable, make_folds
from segvote.method.vote import Evidence, link_unseen, score_linked, vote_by_scores
from segvote.run.settings import Settings
from segvote.steps.drawing.superpixels import draw_image
from segvote.steps.extract import extract_image, segment_image
from segvote.steps.model import N_FOLDS, Model, measure_nearest, measure_strangeness, select_arrays
from segvote.steps.table import build_table
from segvote.steps.vote import make_params
from segvote.voters import METHOD, make_voter

if TYPE_CHECKING:
    from segvote.voters.base import BaseVoter

# Default share of images without the object that may be predicted to show it.
FALSE_POSITIVE_RATE = 0.01
# Share of images like the training images that may be called unlike both folders.
UNLIKE_RATE = 0.05


@dataclass(frozen=True)
class Choice:
    """The prediction for one image; for the first five fields see `segvote.steps.predict.Prediction`."""

    contains: bool
    unlike: bool
    probability: float
    p_value: float
    score: float
    scores: np.ndarray  # (n_segments,) on the voter's scale
    areas: np.ndarray  # (n_segments,) pixels
    decisions: np.ndarray  # (n_segments,) bool: the object; all False where the image does not show it
    threshold: float  # the score above which segments are selected
    heat: np.ndarray  # (n_segments,) float32 in [0, 1]


class Predictor:
    """A model with its voter restored and its threshold found.

    Images that score above `threshold` are predicted to show the object. `rate` is the false-positive rate that is
    kept: the one asked for, or the lowest that the training images allow.
    """

    def __init__(self, model: Model, false_positive_rate: float = FALSE_POSITIVE_RATE) -> None:
        if not 0 < false_positive_rate < 1:
            raise BadInputError(
                f"the false-positive rate is a share of images, above 0 and below 1; got {false_positive_rate}"
            )
        self.model, self.false_positive_rate = model, false_positive_rate
        arrays = model.arrays
        try:
            self.training, self.voter = _restore(model)
            self._reach = find_reach(arrays["levels"], arrays["edges"], model.extent).astype(np.float64)
            # Distances of the best segments of training images to other images; none where a voter has no graph.
            nearest, excluded = (arrays.get(f"method.{name}", np.empty(0)) for name in ("nearest", "excluded"))
            self.familiar = np.sort(nearest[~excluded.astype(bool)])
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise DamagedFileError(
                f"the arrays of the model do not belong together ({error}); annotate again"
            ) from error
        self.calibration = calibrate(model, self.training)
        self.rate = max(false_positive_rate, 1 / (len(self.calibration.negatives) + 1))
        self.threshold = self.calibration.find_threshold(self.rate)

    def judge(self, image: np.ndarray) -> tuple[Choice, np.ndarray]:
        """Predict one image, (h, w, 3) uint8 as displayed: the choice, and the mask (h, w) bool."""
        model, settings = self.model, self.model.settings
        geometry = segment_image(settings, image)
        features = extract_image(model.extractor, settings, (image, geometry["labels"]))
        table, _ = build_table([features], [geometry], None, model.extractor, settings, model.standardiser)
        (choice,) = self.choose(table)
        free = np.full(len(table), -1, dtype=np.int8)
        decided = Decided(geometry["labels"], choice.heat, choice.decisions, free)
        return choice, draw_image(image, decided, model.drawing)

    def choose(self, table: SegmentTable) -> Iterator[Choice]:
        """Predict each bag of a table."""
        votes, shares, distances = self._vote(table.X)
        scores = table.smooth(votes, self.training.params.smoothing)
        edge_bags = table.bags[table.edges[:, 0]]
        for number, span in enumerate(pairwise(table.bag_offsets)):
            own = slice(*span)
            edges = table.edges[edge_bags == number] - own.start
            yield self._choose(scores[own], table.areas[own], edges, shares[own], distances[own])

    def _vote(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(n_segments,) scores by standardised features, share of neighbours in reach of the extent, nearest distance.

        A model whose numbers lead to no finite scores is refused.
        """
        votes, graph = np.array([np.nan]), sparse.csr_matrix((len(X), len(self.training.table)))
        if np.isfinite(X).all() and self.voter is not None:
            votes = self.voter.decision_function(X)
        elif np.isfinite(X).all():
            graph = link_unseen(self.training, X)
            votes = score_linked(self.training, X, graph)
        if not np.isfinite(votes).all():
            raise DamagedFileError("the model gives scores that are not finite numbers; annotate again")
        return votes, graph @ self._reach, measure_nearest(X, self.training.table.X, graph)

    def _choose(
        self, scores: np.ndarray, areas: np.ndarray, edges: np.ndarray, shares: np.ndarray, distances: np.ndarray
    ) -> Choice:
        """Predict one image; for the segments see `select_unseen`."""
        score, (low, top) = float(scores.max()), self.model.arrays["range"]
        unlike = score > self.threshold and self.is_unlike(measure_strangeness(scores, distances))
        contains = score > self.threshold and not unlike
        decisions, shown, threshold = np.zeros(len(scores), dtype=bool), scores, self.threshold
        if contains:
            # By the rule of the training run; a global threshold is that run's.
            rule = self.model.settings.decision
            own = float(DECISIONS["sign" if rule == "global-otsu" else check_decision(rule)]([scores], [areas])[0])
            decisions, shown, threshold = select_unseen(scores, areas, edges, shares, own, self.model.extent)
        high = float(shown.max()) if contains else max(float(top), self.threshold)
        heat = scale_heat(shown, threshold, min(float(low), float(shown.min())), high).astype(np.float32)
        probability = float(self.calibration.measure_probability(scores.max()))
        p_value = float(measure_p_value(np.array([score]), self.calibration.negatives)[0])
        return Choice(contains, unlike, probability, p_value, score, scores, areas, decisions, threshold, heat)

    def is_unlike(self, distance: float) -> bool:
        """Whether the best segments of an image, at a mean distance to their nearest voters, are unlike both folders.

        By a conformal p-value: at most `UNLIKE_RATE` of the training images are as far from the other images. Fewer
        than 19 training images allow no such answer.
        """
        return float(measure_p_value(np.array([distance]), self.familiar)[0]) <= UNLIKE_RATE


def _restore(model: Model) -> tuple[Evidence, BaseVoter | None]:
    """The vote on the training segments; a voter other than the method is fitted again on them."""
    arrays, settings, table = model.arrays, model.settings, model.make_table()
    params = make_params(settings)
    params = replace(params, n_neighbors=min(params.n_neighbors, len(table)))  # a model may ask for any number
    if settings.voter == METHOD:
        return _unpack_vote(arrays, table, params), None
    voter = make_voter(settings.voter, settings.voter_options, settings.finish)
    voter.fit(table.X, table.is_candidate, bags=table.images, prior=arrays["prior"])
    return vote_by_scores(table, voter.scores_, params), voter


def _unpack_vote(arrays: dict[str, np.ndarray], table: SegmentTable, params: VoteParams) -> Evidence:
    """Evidence that scores unseen segments, from the arrays that `write_model` stored."""
    state, user_labels = select_arrays(arrays, "method"), arrays["user_labels"]
    labels = state["labels"].astype(bool)
    sizes = [len(labels), len(user_labels), len(state["excluded"]), len(state["held_out"]), len(state["direction"])]
    if sizes != [len(table), len(table), table.n_images, table.n_images, table.X.shape[1]]:
        raise ValueError(f"arrays of other segments or images: {sizes}")
    return Evidence(
        table=table,
        params=params,
        graph=sparse.csr_matrix((len(table), len(table))),
        connectivity=np.zeros(len(table)),
        user_labels=user_labels,
        agreement=None,
        excluded=state["excluded"].astype(bool),
        labels=labels,
        inside=float(state["inside"][0]),
        posterior=LinearPosterior(state["direction"], float(state["offset"][0])),
        threshold=float(state["threshold"][0]),
    )


@dataclass(frozen=True)
class Calibration:
    """Scores of training images held out of the vote."""

    negatives: np.ndarray  # (n_without,) best segment's score of each *without* image, ascending
    slope: float  # of the logistic curve from score to probability
    offset: float

    def find_threshold(self, rate: float) -> float:
        """The score above which the p-value is at most `rate`, or at most 1 / (n_without + 1), the lowest."""
        n_false = int(np.floor(rate * (len(self.negatives) + 1) + 1e-9))
        return float(self.negatives[-int(np.clip(n_false, 1, len(self.negatives)))])

    def measure_probability(self, scores: np.ndarray) -> np.ndarray:
        """(n,) probability that an image shows the object, if that is as common as in the training folders."""
        return expit(self.slope * np.asarray(scores) + self.offset)


def fit_calibration(scores: np.ndarray, bag_labels: np.ndarray) -> Calibration:
    """Fit to the best segment's score of each training image (n_bags,), held out of the vote, and its bag label."""
    if bag_labels.all() or not bag_labels.any():
        raise BadInputError("expected training images with and without the object, got one kind only; annotate again")
    from sklearn.linear_model import LogisticRegression

    centre, scale = float(scores.mean()), float(scores.std()) or 1.0
    # By maximum likelihood with a mild prior on the slope, so that clean data cannot make it a step.
    model = LogisticRegression(C=1.0).fit(((scores - centre) / scale)[:, None], bag_labels)
    # A falling curve is made flat: lower scores are no evidence for the object.
    steepness = max(float(model.coef_[0, 0]), 0.0)
    offset = float(model.intercept_[0]) - steepness * centre / scale
    return Calibration(np.sort(scores[~bag_labels]), steepness / scale, offset)


def calibrate(model: Model, training: Evidence) -> Calibration:
    """The calibration of a model; a *without* image with a user label *object* counts as showing the object."""
    arrays, table = model.arrays, training.table
    scores = arrays.get("method.held_out")
    if scores is None:
        votes = score_by_refits(model.settings, table, arrays["prior"], arrays["user_labels"])
        scores = table.find_best(table.smooth(votes, training.params.smoothing))
    marked = np.zeros(table.n_images, dtype=bool)
    marked[table.images[arrays["user_labels"] == 1]] = True
    return fit_calibration(scores, table.positive | marked)


def score_by_refits(settings: Settings, table: SegmentTable, prior: np.ndarray, user_labels: np.ndarray) -> np.ndarray:
    """(n_segments,) votes, each image scored by a voter that was fitted without it; works for every voter."""
    n_folds = min(N_FOLDS, int(table.positive.sum()), int((~table.positive).sum()))
    if n_folds < 2:
        raise BadInputError("calibration needs two training images of each kind at least; annotate with more images")
    votes, folds = np.empty(len(table)), make_folds(table, n_folds)[table.images]
    for fold in range(n_folds):
        out, rest = folds == fold, folds != fold
        voter = make_voter(settings.voter, settings.voter_options, settings.finish)
        labels = {"prior": prior[rest], "user_labels": user_labels[rest]}
        voter.fit(table.X[rest], table.is_candidate[rest], bags=table.images[rest], **labels)
        votes[out] = voter.decision_function(table.X[out])
    return votes
