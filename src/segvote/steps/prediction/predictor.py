"""A learned decision for one image after the other: scores of its segments, p-value, probability, mask.

Everything is in memory; `segvote.steps.prediction.predict` does the same for folders and keeps files.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segvote.errors import BadInputError
from segvote.io.images import resize_image
from segvote.masks import scale_heat
from segvote.method import Scores, decide, prefer_inside, vote_again
from segvote.segmentation import SEGMENTERS
from segvote.segmentation.labels import list_edges, measure_areas, measure_border
from segvote.steps.prediction.calibration import Calibration
from segvote.steps.prediction.model import Model
from segvote.steps.superpixels import draw_mask
from segvote.steps.voting_step import is_elected

__all__ = ["Choice", "Judgement", "Predictor"]


@dataclass(frozen=True)
class Choice:
    """Which segments of one image are the object.

    Attributes
    ----------
    contains
        Whether the image shows it at all.
    decisions
        (n_segments,) bool; all False where it does not.
    threshold
        The score above which segments were taken.
    heat
        (n_segments,) float32 in [0, 1].
    """

    contains: bool
    decisions: np.ndarray
    threshold: float
    heat: np.ndarray


@dataclass(frozen=True)
class Judgement:
    """What is said of one image in memory; the words are those of `segvote.steps.prediction.predict.Prediction`.

    Attributes
    ----------
    mask
        (h, w) bool at the size of the image; empty where it does not show the object.
    contains, probability, p_value, score
        See `Prediction`.
    """

    mask: np.ndarray
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
        Which share of images without the object may be said to show it.

    Attributes
    ----------
    rate
        The rate that is kept: the one asked for, or the lowest the training images can vouch for.
    threshold
        The score of an image above which it is said to show the object.
    """

    def __init__(self, model: Model, false_positive_rate: float = 0.01) -> None:
        if not 0 < false_positive_rate < 1:
            raise BadInputError(
                f"the false-positive rate is a share of images, above 0 and below 1; got {false_positive_rate}"
            )
        self.model, self.false_positive_rate = model, false_positive_rate
        self.voter = model.restore_voter()
        self.calibration: Calibration = model.calibrate(self.voter)
        self.rate = max(false_positive_rate, self.calibration.lowest_rate)
        self.threshold = self.calibration.find_threshold(self.rate)

    def judge(self, image: np.ndarray) -> Judgement:
        """Judge one image.

        Parameters
        ----------
        image
            (h, w, 3) uint8 as displayed.
        """
        settings = self.model.settings
        labels = SEGMENTERS[settings.segmenter](
            resize_image(image, settings.size), n_segments=settings.n_segments
        ).labels
        scores = self._score(image, labels)
        choice = self.choose(scores, measure_areas(labels))
        free = np.full(len(scores), -1, dtype=np.int8)
        mask = draw_mask(image, labels, choice.heat, choice.decisions, free, settings.n_superpixels)
        probability, p_value = self.measure(float(scores.max()))
        return Judgement(mask, choice.contains, probability, p_value, float(scores.max()))

    def _score(self, image: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """(n_segments,) of an image in memory."""
        model = self.model
        features = model.extractor.extract(image, labels.astype(np.int32)).astype(np.float32)
        factor = 1.0 if is_elected(self.voter) else model.settings.border_prior
        survival = prefer_inside(measure_border(labels).astype(np.float32), factor)
        votes = self.voter.decision_function(model.standardiser.apply(features), survival=survival)
        return vote_again(votes, list_edges(labels)[0], model.settings.second_vote)

    def choose(self, scores: np.ndarray, areas: np.ndarray) -> Choice:
        """From the scores and areas of an image's segments to those that are the object."""
        low, top, typical = self.model.arrays["range"]
        contains = bool(scores.max() > self.threshold)
        decisions, threshold = (
            self._decide(scores, areas, typical, low) if contains else (scores > np.inf, self.threshold)
        )
        high = float(scores.max()) if contains else max(float(top), self.threshold)
        heat = scale_heat(scores, threshold, min(float(low), float(scores.min())), high)
        return Choice(contains, decisions, threshold, heat.astype(np.float32))

    def _decide(self, scores: np.ndarray, areas: np.ndarray, typical: float, low: float) -> tuple[np.ndarray, float]:
        """Which segments are the object, by the rule of the training run; its threshold or shift where it has one."""
        rule = self.model.settings.decision
        if rule == "global-otsu":
            decisions = scores > typical
            decisions[np.argmax(scores)] = True
            return decisions, float(typical)
        shift = float(self.model.arrays["shift"][0]) if "shift" in self.model.arrays else 0.0
        selected, thresholds = decide(Scores([scores], [areas], shift=shift, lowest=float(low)), rule)
        return selected[0], float(thresholds[0])

    def measure(self, score: float) -> tuple[float, float]:
        """Probability and p-value of an image by the score of its best segment."""
        best = np.array([score])
        return float(self.calibration.measure_probability(best)[0]), float(self.calibration.measure_p_value(best)[0])
