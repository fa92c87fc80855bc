"""Prediction for single images: scores of their segments, p-value, probability, mask.

Everything is in memory; `segvote.steps.predict` does the same for folders and keeps files. A score is calibrated on
the training images, each scored by a vote it had no part in: how often an image without the object scores as high, and
how probable it is that an image shows the object.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.special import expit

from segvote.errors import BadInputError, DamagedFileError
from segvote.io.images import resize_image
from segvote.kernels.pixels import convert_to_lab
from segvote.masks import Decided, scale_heat
from segvote.method.decide import decide
from segvote.method.extents import find_reach, select_unseen
from segvote.method.held_out import link_unseen, measure_p_value, score_linked
from segvote.method.linear import LinearPosterior
from segvote.method.table import SegmentTable, make_folds, smooth_along, weigh_adjacent
from segvote.method.vote import Vote, VoteParams, vote_by_scores
from segvote.run.settings import Settings
from segvote.segmentation import SEGMENTERS
from segvote.segmentation.labels import list_edges, measure_areas, measure_means
from segvote.steps.drawing.superpixels import draw_image
from segvote.steps.model import N_FOLDS, Model, measure_nearest, measure_strangeness, select_arrays
from segvote.steps.table import measure_adjacency
from segvote.steps.vote import make_params
from segvote.voters import METHOD, make_voter

if TYPE_CHECKING:
    from segvote.voters.base import BaseVoter

# Of images without the object, the share that may be predicted to show it where a call does not say.
FALSE_POSITIVE_RATE = 0.01
# Share of images like the training images that may be called unlike both folders.
UNLIKE_RATE = 0.05


@dataclass(frozen=True)
class Choice:
    """Which segments of one image are the object."""

    contains: bool  # whether the image shows it at all
    unlike: bool  # whether it would, but for its best segments, which are unlike those of either folder
    decisions: np.ndarray  # (n_segments,) bool; all False where it does not
    threshold: float  # the score above which segments are selected
    heat: np.ndarray  # (n_segments,) float32 in [0, 1]


@dataclass(frozen=True)
class Judgement:
    """The result for one image in memory; see `segvote.steps.predict.Prediction`."""

    mask: np.ndarray  # (h, w) bool at the size of the image; empty where it does not show the object
    contains: bool
    unlike: bool
    probability: float
    p_value: float
    score: float


class Predictor:
    """A model with its voter restored and its threshold found.

    Parameters
    ----------
    model
        As `read_model` opens it.
    false_positive_rate
        Largest share of images without the object that may be predicted to show it.

    Attributes
    ----------
    rate
        The rate that is kept: the one asked for, or the lowest the training images can vouch for.
    threshold
        The score of an image above which it is predicted to show the object.
    """

    def __init__(self, model: Model, false_positive_rate: float = FALSE_POSITIVE_RATE) -> None:
        if not 0 < false_positive_rate < 1:
            raise BadInputError(
                f"the false-positive rate is a share of images, above 0 and below 1; got {false_positive_rate}"
            )
        self.model, self.false_positive_rate = model, false_positive_rate
        self.scorer = Scorer.restore(model)
        self.calibration = calibrate(model, self.scorer)
        arrays = model.arrays
        self._reach = find_reach(arrays["levels"], arrays["edges"], model.extent).astype(np.float64)
        self.rate = max(false_positive_rate, self.calibration.lowest_rate)
        self.threshold = self.calibration.find_threshold(self.rate)
        self.familiar = _list_familiar(arrays)

    def judge(self, image: np.ndarray) -> Judgement:
        """Judge one image, (h, w, 3) uint8 as displayed."""
        settings = self.model.settings
        labels = SEGMENTERS[settings.segmenter](
            resize_image(image, settings.size), n_segments=settings.n_segments
        ).labels
        edges, lengths = list_edges(labels)
        scores, shares, distances = self._score(image, labels, edges, lengths)
        choice = self.choose(scores, measure_areas(labels), edges, shares, distances)
        free = np.full(len(scores), -1, dtype=np.int8)
        mask = draw_image(image, Decided(labels, choice.heat, choice.decisions, free), self.model.drawing)
        probability, p_value = self.measure(float(scores.max()))
        return Judgement(mask, choice.contains, choice.unlike, probability, p_value, float(scores.max()))

    def _score(
        self, image: np.ndarray, labels: np.ndarray, edges: np.ndarray, lengths: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(n_segments,) scores, shares and distances of an image in memory, see `vote`."""
        model = self.model
        features = model.extractor.extract(image, labels.astype(np.int32)).astype(np.float32)
        votes, shares, distances = self.vote(model.standardiser.apply(features))
        working = resize_image(image, model.settings.size)
        colours = measure_means(convert_to_lab(working), labels, measure_areas(labels))
        geometry = {"edges": edges, "lengths": lengths, "colours": colours}
        adjacency = measure_adjacency(geometry, model.settings.second_voting)
        return self.scorer.smooth(votes, weigh_adjacent(len(votes), edges, *adjacency)), shares, distances

    def vote(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(n_segments,) scores by standardised features, share of neighbours in reach of the extent, nearest distance.

        A model whose numbers lead to no finite scores is refused.
        """
        votes, shares, distances = np.array([np.nan]), np.zeros(len(X)), np.zeros(len(X))
        if np.isfinite(X).all():
            votes, graph = self.scorer.score(X)
            shares = graph @ self._reach
            distances = measure_nearest(X, self.scorer.vote.table.X, graph)
        if not np.isfinite(votes).all():
            raise DamagedFileError(
                "the scales or votes of the model are no numbers that features could have given; annotate again"
            )
        return votes, shares, distances

    def choose(
        self, scores: np.ndarray, areas: np.ndarray, edges: np.ndarray, shares: np.ndarray, distances: np.ndarray
    ) -> Choice:
        """Select the segments of an image that are the object by their scores; see `select_unseen`."""
        low, top = self.model.arrays["range"]
        is_called = bool(scores.max() > self.threshold)
        unlike = is_called and self.is_unlike(measure_strangeness(scores, distances))
        contains = is_called and not unlike
        decisions, threshold = scores > np.inf, self.threshold
        if contains:
            own = self._decide(scores, areas)
            decisions, scores, threshold = select_unseen(scores, areas, edges, shares, own, self.model.extent)
        high = float(scores.max()) if contains else max(float(top), self.threshold)
        heat = scale_heat(scores, threshold, min(float(low), float(scores.min())), high)
        return Choice(contains, unlike, decisions, threshold, heat.astype(np.float32))

    def is_unlike(self, distance: float) -> bool:
        """Whether the best segments of an image, at a mean distance to their nearest voters, are unlike both folders.

        By a conformal p-value: so far are at most `UNLIKE_RATE` of the training images from the other images. Fewer
        than 19 training images allow no such answer.
        """
        return float(measure_p_value(np.array([distance]), self.familiar)[0]) <= UNLIKE_RATE

    def _decide(self, scores: np.ndarray, areas: np.ndarray) -> float:
        """The threshold by the rule of the training run; a global threshold is that run's."""
        rule = self.model.settings.decision
        return float(decide([scores], [areas], "sign" if rule == "global-otsu" else rule)[1][0])

    def measure(self, score: float) -> tuple[float, float]:
        """Probability and p-value of an image by the score of its best segment."""
        best = np.array([score])
        return float(self.calibration.measure_probability(best)[0]), float(self.calibration.measure_p_value(best)[0])


def _list_familiar(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Distances of the best segments of training images to other images, ascending; none where a voter has no graph."""
    if "method.nearest" not in arrays:
        return np.empty(0)
    return np.sort(arrays["method.nearest"][~arrays["method.excluded"].astype(bool)])


@dataclass(frozen=True)
class Scorer:
    """Scores segments never seen, before smoothing; above 0 means object.

    Attributes
    ----------
    vote : Vote
        On the training segments.
    voter : BaseVoter, optional
        The voter that scores in the place of the method.
    """

    vote: Vote
    voter: BaseVoter | None = None

    @classmethod
    def restore(cls, model: Model) -> Scorer:
        """By the stored vote, or by another voter fitted again on the training segments."""
        arrays, settings, table = model.arrays, model.settings, model.make_table()
        params = make_params(settings)
        params = replace(params, n_neighbors=min(params.n_neighbors, len(table)))  # a model may ask for any number
        if settings.voter == METHOD:
            return cls(_unpack_vote(table, params, select_arrays(arrays, "method"), arrays["user_labels"]))
        voter = make_voter(settings.voter, settings.voter_options, settings.finish)
        voter.fit(table.X, table.is_candidate, bags=table.images, prior=arrays["prior"])
        return cls(vote_by_scores(table, voter.scores_, params), voter)

    def score(self, X: np.ndarray) -> tuple[np.ndarray, sparse.csr_matrix]:
        """(n,) scores of segments (n, d), and (n, n_training) the votes of training segments, if the method votes."""
        if self.voter is not None:
            return self.voter.decision_function(X), sparse.csr_matrix((len(X), len(self.vote.table)))
        graph = link_unseen(self.vote, X)
        return score_linked(self.vote, X, graph), graph

    def smooth(self, scores: np.ndarray, adjacency: sparse.csr_matrix) -> np.ndarray:
        """Scores (n,) of an image's segments with those of their adjacent segments, see `weigh_adjacent`."""
        return smooth_along(adjacency, scores, self.vote.params.smoothing)


def _unpack_vote(
    table: SegmentTable, params: VoteParams, state: dict[str, np.ndarray], user_labels: np.ndarray
) -> Vote:
    """A vote that scores segments never seen, from what `_pack_vote` gave."""
    nothing, images, labels = np.zeros(len(table)), np.zeros(table.n_images), state["labels"].astype(bool)
    return Vote(
        table=table,
        params=params,
        graph=sparse.csr_matrix((len(table), len(table))),
        connectivity=nothing,
        user_labels=user_labels,
        agreement=None,
        excluded=state["excluded"].astype(bool),
        suspicion=images,
        labels=labels,
        inside=float(state["inside"][0]),
        posterior=LinearPosterior(state["direction"], float(state["offset"][0])),
        threshold=float(state["threshold"][0]),
        votes=nothing,
        scores=nothing,
        thresholds=images,
        selected=labels,
        uncertainty=images,
        empty=images > 0,
    )


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


def fit_calibration(scores: np.ndarray, bag_labels: np.ndarray) -> Calibration:
    """Fit to the best segment's score of each training image (n_bags,), held out of the vote.

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


def calibrate(model: Model, scorer: Scorer) -> Calibration:
    """The calibration of a model; a *without* image with a user label *object* counts as showing the object."""
    arrays, table = model.arrays, scorer.vote.table
    scores = arrays.get("method.held_out")
    if scores is None:
        votes = score_by_refits(model.settings, table, arrays["prior"], arrays["user_labels"])
        scores = table.find_best(table.smooth(votes, scorer.vote.params.smoothing))
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
