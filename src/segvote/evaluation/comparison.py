"""Results of a comparison: overlaps per image and rule, curves and times of each combination, or why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from segvote.evaluation.evaluate import Ranking
from segvote.evaluation.segments import Overlap, measure_ious
from segvote.metrics.bootstrap import Difference, Interval, bootstrap_difference, bootstrap_mean


@dataclass(frozen=True, order=True)
class Combination:
    """A segmenter, features, and a voter; with ``+finish`` behind its name, the method's re-vote and classifier too."""

    segmenter: str
    features: str
    voter: str


@dataclass(frozen=True)
class Result:
    """One combination on one set of images."""

    combination: Combination
    names: list[str] = field(default_factory=list)  # images with truth
    segments: list[str] = field(default_factory=list)  # keys of their segments
    heats: list[list[float]] = field(default_factory=list)  # of their segments, 0 to 1 as in a heat map
    overlaps: dict[str, list[Overlap]] = field(default_factory=dict)  # by decision rule, one per image
    limits: list[Overlap] = field(default_factory=list)  # of segments labelled by the truth
    ranking: Ranking = field(default_factory=Ranking)
    seconds: float = 0.0  # of the vote
    notes: list[str] = field(default_factory=list)  # warnings of the voter
    reason: str = ""  # why there is no result; empty: there is one

    @property
    def is_good(self) -> bool:
        return not self.reason

    def measure_ious(self, rule: str = "common") -> np.ndarray:
        """(n,) overlap of each image, or of each video after `group`."""
        return measure_ious(self.overlaps[rule])

    def measure_limits(self) -> np.ndarray:
        return measure_ious(self.limits)

    def group(self, groups: dict[str, str]) -> Result:
        """The same with frames joined to videos: `groups` maps an image's name to its video's."""
        videos = list(dict.fromkeys(groups[name] for name in self.names))
        places = [videos.index(groups[name]) for name in self.names]

        def join(overlaps: Sequence[Overlap]) -> list[Overlap]:
            sums = np.zeros((len(videos), 2))
            np.add.at(sums, places, np.array(overlaps).reshape(-1, 2))
            return [(float(common), float(union)) for common, union in sums]

        overlaps = {rule: join(values) for rule, values in self.overlaps.items()}
        return replace(self, names=videos, segments=[], heats=[], overlaps=overlaps, limits=join(self.limits))


@dataclass(frozen=True)
class Comparison:
    """Every combination on one set of images."""

    folder: Path  # of the comparison
    images: Path  # the *with* folder
    reference: str  # the voter that the others are compared with
    threshold: float  # overlap above which an image counts as found
    results: list[Result]  # in the order asked for

    @property
    def good(self) -> list[Result]:
        """Results of the combinations that did not fail."""
        return [result for result in self.results if result.is_good]

    @property
    def failed(self) -> list[Result]:
        """Results of the combinations that failed, with their reasons."""
        return [result for result in self.results if not result.is_good]

    def measure_corloc(self, result: Result, rule: str = "common") -> Interval:
        """Share of the images found by a decision rule: ``common``, ``own``, ``printed`` or ``matched``."""
        return bootstrap_mean((result.measure_ious(rule) > self.threshold).astype(float))

    def rank(self) -> list[Result]:
        """Good results, the best first: by CorLoc, then by mean IoU."""

        def order(one: Result) -> tuple[float, float, Combination]:
            ious = one.measure_ious()
            return -float((ious > self.threshold).mean()), -float(ious.mean()), one.combination

        return sorted(self.good, key=order)

    def find(self, voter: str, features: str, segmenter: str | None = None) -> Result | None:
        """The good result of a combination, or None."""
        for result in self.good:
            known = result.combination
            if (known.voter, known.features) == (voter, features) and segmenter in (None, known.segmenter):
                return result
        return None

    def measure_difference(self, result: Result) -> Difference | None:
        """By how much the mean IoU of the reference is higher, by a paired bootstrap over images.

        Its features and segments are those of the result. None for the reference itself, or without it. Mean IoU
        instead of CorLoc, which has only a yes or no per image, shows a real difference sooner.
        """
        reference = self.find(self.reference, result.combination.features, result.combination.segmenter)
        if reference is None or reference is result:
            return None
        return bootstrap_difference(reference.measure_ious(), result.measure_ious())
