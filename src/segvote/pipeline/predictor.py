"""Prediction for single images: scores of their segments, p-value, probability, mask.

Everything is in memory; `segvote.pipeline.predict` does the same for folders and keeps files. A score is calibrated on
the training images, each scored by a vote it had no part in: how often an image without the object scores as high, and
how probable it is that an image shows the object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from segvote.errors import BadInputError, DamagedFileError
from segvote.masks import scale_heat
from segvote.method.cross_fit import make_folds, measure_p_value
from segvote.method.extents import find_reach, select_unseen
from segvote.method.linear import LinearPosterior
from segvote.method.scorer import Scorer
from segvote.method.table import SegmentTable
from segvote.method.threshold import DECISIONS
from segvote.pipeline.drawing.images import draw_image
from segvote.pipeline.extract import extract_image, segment_image
from segvote.pipeline.model import N_FOLDS, Model, measure_nearest, measure_strangeness
from segvote.pipeline.table import build_table
from segvote.pipeline.video.tubes import average_tubes
from segvote.pipeline.vote import make_params
from segvote.run.model_file import select_arrays
from segvote.selection import Selection, make_selection
from segvote.settings import Settings
from segvote.voters import METHOD, make_voter

if TYPE_CHECKING:
    from segvote.voters.base import BaseVoter

# Default share of images without the object that may be predicted to show it.
FALSE_POSITIVE_RATE = 0.01
# Share of images like the training images that may be called unlike both folders.
UNLIKE_RATE = 0.05


@dataclass(frozen=True)
class Choice:
    """The prediction for one image; for the first five fields see `segvote.pipeline.predict.Prediction`."""

    contains: bool
    unlike: bool
    probability: float
    p_value: float
    score: float
    areas: np.ndarray  # (n_segments,) pixels
    selection: Selection  # of the image, on the voter's scale; nothing is selected where it does not show the object
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
            self.table = model.make_table()
            self.source = _restore(model, self.table)
            self._reach = find_reach(arrays["first_extents"], arrays["edges"], model.extent).astype(np.float64)
            # Distances of the best segments of training images to other images; none where a voter has no graph.
            nearest, excluded = (arrays.get(f"method.{name}", np.empty(0)) for name in ("nearest", "excluded"))
            self.familiar = np.sort(nearest[~excluded.astype(bool)])
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise DamagedFileError(
                f"the arrays of the model do not belong together ({error}); annotate again"
            ) from error
        self.calibration = calibrate(model, self.table)
        self.rate = max(false_positive_rate, 1 / (len(self.calibration.negatives) + 1))
        self.threshold = self.calibration.find_threshold(self.rate)

    def judge(self, image: np.ndarray) -> tuple[Choice, np.ndarray]:
        """Predict one image, (h, w, 3) uint8 as displayed: the choice, and the mask (h, w) bool."""
        model, settings = self.model, self.model.settings
        geometry, _ = segment_image(settings, image, image.shape[:2])
        features = extract_image(settings, model.extractor, image, geometry["labels"])
        table, _ = build_table([features], [geometry], None, model.extractor, settings, model.standardiser)
        (choice,) = self.choose(table)
        return choice, draw_image(image, choice.selection, geometry["labels"], choice.heat, model.drawing)

    def choose(
        self, table: SegmentTable, tubes: np.ndarray | None = None, shows: Sequence[bool] | None = None
    ) -> Iterator[Choice]:
        """Predict each bag of a table; slices of a supervoxel, by its number in `tubes` (n_segments,), are one.

        Where it is known which bags (n_bags,) show the object, those have a mask and the others none; with the setting
        `unsure`, those may have one.
        """
        votes, shares, distances = self._vote(table)
        scores = table.smooth(votes, make_params(self.model.settings).smoothing)
        edge_bags = table.bags[table.edges[:, 0]]
        for number, span in enumerate(pairwise(table.bag_offsets)):
            own = slice(*span)
            edges = table.edges[edge_bags == number] - own.start
            slices = None if tubes is None else tubes[own]
            known = None if shows is None else bool(shows[number])
            known = None if known and self.model.settings.unsure else known
            yield self._choose(scores[own], table.areas[own], edges, shares[own], distances[own], slices, known)

    def _vote(self, table: SegmentTable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(n_segments,) scores, share of neighbours in reach of the extent, nearest distance.

        A model whose numbers lead to no finite scores is refused.
        """
        X = table.X
        votes, shares, distances = np.array([np.nan]), np.zeros(len(X)), np.zeros(len(X))
        is_finite = bool(np.isfinite(X).all())
        if is_finite and isinstance(self.source, Scorer):
            graph = self.source.build_graph(X)
            votes = self.source.score(X, graph, table.adjacency)
            shares, distances = graph @ self._reach, measure_nearest(X, self.source.X, graph)
        elif is_finite and not isinstance(self.source, Scorer):
            # Another voter has no graph: nothing grows, and no image is unlike the others.
            votes = self.source.decision_function(X)
        if not np.isfinite(votes).all():
            raise DamagedFileError("the model gives scores that are not finite numbers; annotate again")
        return votes, shares, distances

    def _choose(
        self,
        scores: np.ndarray,
        areas: np.ndarray,
        edges: np.ndarray,
        shares: np.ndarray,
        distances: np.ndarray,
        tubes: np.ndarray | None,
        known: bool | None,
    ) -> Choice:
        """Predict one image; for the segments see `select_unseen`."""
        score, (low, top) = float(scores.max()), self.model.arrays["range"]
        unlike = score > self.threshold and self.is_unlike(measure_strangeness(scores, distances))
        contains = score > self.threshold and not unlike if known is None else known
        selected, shown, threshold = np.zeros(len(scores), dtype=bool), scores, self.threshold
        if contains:
            # By the rule of the training run; a global threshold is that run's.
            rule = self.model.settings.decision
            own = float(DECISIONS["sign" if rule == "global-otsu" else rule]([scores], [areas])[0])
            selected, shown, threshold = select_unseen(scores, areas, edges, shares, own, self.model.extent)
            if tubes is not None and (tubes >= 0).all():
                shown = average_tubes(shown, areas, tubes)
                selected = shown > threshold
        high = None if contains else max(float(top), self.threshold)
        heat = scale_heat(shown, threshold, min(float(low), float(shown.min())), high).astype(np.float32)
        probability = float(self.calibration.measure_probability(scores.max()))
        p_value = float(measure_p_value(np.array([score]), self.calibration.negatives)[0])
        selection = make_selection(shown, selected, threshold)
        return Choice(contains, unlike, probability, p_value, score, areas, selection, heat)

    def is_unlike(self, distance: float) -> bool:
        """Whether the best segments of an image, at a mean distance to their nearest voters, are unlike both folders.

        By a conformal p-value: at most `UNLIKE_RATE` of the training images are as far from the other images. Fewer
        than 19 training images allow no such answer.
        """
        return float(measure_p_value(np.array([distance]), self.familiar)[0]) <= UNLIKE_RATE


def _restore(model: Model, table: SegmentTable) -> Scorer | BaseVoter:
    """The scorer of the method; another voter is fitted again on the training segments."""
    settings = model.settings
    if settings.voter == METHOD:
        return _unpack_scorer(model.arrays, table, make_params(settings).n_neighbors)
    voter = make_voter(settings.voter, settings.voter_options, settings.finish)
    voter.fit(table.X, table.is_candidate, bags=table.images, prior=model.arrays["prior"])
    return voter


def _unpack_scorer(arrays: dict[str, np.ndarray], table: SegmentTable, n_neighbors: int) -> Scorer:
    """The scorer of unseen segments, from the arrays that `write_model` stored."""
    state, user_labels = select_arrays(arrays, "method"), arrays["user_labels"]
    votes, excluded = state["votes"].astype(np.float64), state["excluded"].astype(bool)
    shapes = [state[name].shape for name in ("directions", "contexts", "offsets", "weights")]
    n_classifiers, n_dims = len(state["offsets"]), table.X.shape[1]
    sizes = [len(votes), len(user_labels), len(excluded), len(state["held_out"])]
    if sizes != [len(table), len(table), table.n_images, table.n_images]:
        raise ValueError(f"arrays of other segments or images: {sizes}")
    if shapes != [(n_classifiers, n_dims)] * 2 + [(n_classifiers,)] * 2:
        raise ValueError(f"arrays of other classifiers: {shapes}")
    lines = zip(*(state[name] for name in ("directions", "offsets", "weights", "contexts")), strict=True)
    return Scorer(
        X=table.X,
        bags=table.bags,
        votes=votes,
        excluded=excluded[table.images] & (user_labels < 0),
        classifiers=tuple(
            LinearPosterior(direction, float(offset), float(weight), context if context.any() else None)
            for direction, offset, weight, context in lines
        ),
        threshold=float(state["threshold"][0]),
        n_neighbors=min(n_neighbors, len(table)),  # a model may ask for any number
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


def calibrate(model: Model, table: SegmentTable) -> Calibration:
    """The calibration of a model; a *without* image with a user label *object* counts as showing the object."""
    arrays = model.arrays
    scores = arrays.get("method.held_out")
    if scores is None:
        votes = score_by_refits(model.settings, table, arrays["prior"], arrays["user_labels"])
        scores = table.max_by_image(table.smooth(votes, make_params(model.settings).smoothing))
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
