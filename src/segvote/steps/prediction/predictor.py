"""A learned decision for one image after the other: scores of its segments, p-value, probability, mask.

Everything is in memory; `segvote.steps.prediction.predict` does the same for folders and keeps files.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segvote.errors import BadInputError, DamagedFileError
from segvote.io.images import resize_image
from segvote.kernels.colour import convert_to_lab
from segvote.masks import Decided, scale_heat
from segvote.method.decide import decide
from segvote.method.extents import find_reach, select_unseen
from segvote.method.table import weigh_adjacent
from segvote.segmentation import SEGMENTERS
from segvote.segmentation.labels import list_edges, measure_areas, measure_means
from segvote.steps.drawing.superpixels import draw_image
from segvote.steps.prediction.calibration import Calibration
from segvote.steps.prediction.model import Model
from segvote.steps.table import measure_adjacency


@dataclass(frozen=True)
class Choice:
    """Which segments of one image are the object."""

    contains: bool  # whether the image shows it at all
    decisions: np.ndarray  # (n_segments,) bool; all False where it does not
    threshold: float  # the score above which segments are selected
    heat: np.ndarray  # (n_segments,) float32 in [0, 1]


@dataclass(frozen=True)
class Judgement:
    """The result for one image in memory; see `segvote.steps.prediction.predict.Prediction`."""

    mask: np.ndarray  # (h, w) bool at the size of the image; empty where it does not show the object
    contains: bool
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

    def __init__(self, model: Model, false_positive_rate: float = 0.01) -> None:
        if not 0 < false_positive_rate < 1:
            raise BadInputError(
                f"the false-positive rate is a share of images, above 0 and below 1; got {false_positive_rate}"
            )
        self.model, self.false_positive_rate = model, false_positive_rate
        self.scorer = model.restore()
        self.calibration: Calibration = model.calibrate(self.scorer)
        arrays = model.arrays
        self._reach = find_reach(arrays["levels"], arrays["edges"], model.extent).astype(np.float64)
        self.rate = max(false_positive_rate, self.calibration.lowest_rate)
        self.threshold = self.calibration.find_threshold(self.rate)

    def judge(self, image: np.ndarray) -> Judgement:
        """Judge one image, (h, w, 3) uint8 as displayed."""
        settings = self.model.settings
        labels = SEGMENTERS[settings.segmenter](
            resize_image(image, settings.size), n_segments=settings.n_segments
        ).labels
        edges, lengths = list_edges(labels)
        scores, shares = self._score(image, labels, edges, lengths)
        choice = self.choose(scores, measure_areas(labels), edges, shares)
        free = np.full(len(scores), -1, dtype=np.int8)
        mask = draw_image(image, Decided(labels, choice.heat, choice.decisions, free), self.model.drawing)
        probability, p_value = self.measure(float(scores.max()))
        return Judgement(mask, choice.contains, probability, p_value, float(scores.max()))

    def _score(
        self, image: np.ndarray, labels: np.ndarray, edges: np.ndarray, lengths: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n_segments,) scores and shares of an image in memory, see `vote`."""
        model = self.model
        features = model.extractor.extract(image, labels.astype(np.int32)).astype(np.float32)
        votes, shares = self.vote(model.standardiser.apply(features))
        working = resize_image(image, model.settings.size)
        colours = measure_means(convert_to_lab(working), labels, measure_areas(labels))
        geometry = {"edges": edges, "lengths": lengths, "colours": colours}
        adjacency = measure_adjacency(geometry, model.settings.second_voting)
        return self.scorer.smooth(votes, weigh_adjacent(len(votes), edges, *adjacency)), shares

    def vote(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n_segments,) scores by standardised features, and the share of their neighbours in reach of the extent.

        A model whose numbers lead to no finite scores is refused.
        """
        votes, shares = np.array([np.nan]), np.zeros(len(X))
        if np.isfinite(X).all():
            votes, graph = self.scorer.score(X)
            shares = graph @ self._reach
        if not np.isfinite(votes).all():
            raise DamagedFileError(
                "the scales or votes of the model are no numbers that features could have given; annotate again"
            )
        return votes, shares

    def choose(self, scores: np.ndarray, areas: np.ndarray, edges: np.ndarray, shares: np.ndarray) -> Choice:
        """From the scores of an image's segments to those that are the object; see `select_unseen`."""
        low, top = self.model.arrays["range"]
        contains = bool(scores.max() > self.threshold)
        decisions, threshold = scores > np.inf, self.threshold
        if contains:
            own = self._decide(scores, areas)
            decisions, scores, threshold = select_unseen(scores, areas, edges, shares, own, self.model.extent)
        high = float(scores.max()) if contains else max(float(top), self.threshold)
        heat = scale_heat(scores, threshold, min(float(low), float(scores.min())), high)
        return Choice(contains, decisions, threshold, heat.astype(np.float32))

    def _decide(self, scores: np.ndarray, areas: np.ndarray) -> float:
        """The threshold by the rule of the training run; a global threshold is that run's."""
        rule = self.model.settings.decision
        return float(decide([scores], [areas], "sign" if rule == "global-otsu" else rule)[1][0])

    def measure(self, score: float) -> tuple[float, float]:
        """Probability and p-value of an image by the score of its best segment."""
        best = np.array([score])
        return float(self.calibration.measure_probability(best)[0]), float(self.calibration.measure_p_value(best)[0])
