"""What a comparison keeps of each combination: overlaps per image and rule, curves, times, or why there is nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from segvote.errors import BadInputError, DamagedFileError, UnknownNameError
from segvote.evaluation.evaluate import Curve
from segvote.evaluation.evaluate_segments import measure_ious
from segvote.io.tables import convert_record, read_json, write_json
from segvote.metrics.bootstrap import Difference, Interval, bootstrap_difference, bootstrap_mean
from segvote.voters import METHOD, keeps_lengths

# After the name of a voter: with the re-vote and the linear classifier of the method.
FINISH = "+finish"
# After the name of features: their vectors as long as they are, or blocks of length one, whatever suits a voter.
LENGTHS, UNIT = ":lengths", ":unit"


@dataclass(frozen=True, order=True)
class Combination:
    """One way to do the job."""

    segmenter: str
    features: str
    voter: str


@dataclass(frozen=True)
class Result:
    """One combination on one set of images."""

    combination: Combination
    key: str  # name of all that decides it
    names: list[str] = field(default_factory=list)  # images with truth
    segments: list[str] = field(default_factory=list)  # keys of their segments
    # Rule to an (intersection, union) per image.
    overlaps: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    limits: list[tuple[float, float]] = field(default_factory=list)  # the same for segments labelled by the truth
    # Of the scores after the second voting:
    segment_ap: float = 0.0
    pixel_ap: float = 0.0
    curve: Curve = field(default_factory=Curve)
    seconds: float = 0.0  # of the vote
    notes: list[str] = field(default_factory=list)  # what the voter warned of
    reason: str = ""  # why there is no result; empty: there is one
    kind: str = ""  # class of the error

    @property
    def is_good(self) -> bool:
        return not self.reason

    def measure_ious(self, rule: str = "common") -> np.ndarray:
        """(n,) overlap of each image (or video, after `group`)."""
        if rule not in self.overlaps:
            raise UnknownNameError(f"unknown rule {rule!r}; the known ones are: {', '.join(self.overlaps)}")
        return measure_ious(np.array(self.overlaps[rule]))

    def measure_limits(self) -> np.ndarray:
        return measure_ious(np.array(self.limits))

    def group(self, groups: dict[str, str]) -> Result:
        """The same with frames joined to videos: `groups` maps an image's name to its video's."""
        videos = list(dict.fromkeys(groups[name] for name in self.names))
        places = np.array([videos.index(groups[name]) for name in self.names], dtype=int)

        def join(overlaps: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
            sums = np.zeros((len(videos), 2))
            np.add.at(sums, places, np.array(overlaps).reshape(-1, 2))
            return [(float(common), float(union)) for common, union in sums]

        overlaps = {rule: join(values) for rule, values in self.overlaps.items()}
        return replace(self, names=videos, segments=[], overlaps=overlaps, limits=join(self.limits))


@dataclass(frozen=True)
class Comparison:
    """Every combination on one set of images.

    Attributes
    ----------
    folder
        Where everything lies: ``run``, ``results``, ``scores``.
    images
        The *with* folder.
    reference
        The voter that the others are compared with.
    threshold
        Overlap above which an image counts as found.
    results
        One per combination, in the order asked for.
    """

    folder: Path
    images: Path
    reference: str
    threshold: float
    results: list[Result]

    @property
    def good(self) -> list[Result]:
        return [result for result in self.results if result.is_good]

    @property
    def failed(self) -> list[Result]:
        return [result for result in self.results if not result.is_good]

    def measure_corloc(self, result: Result, rule: str = "common") -> Interval:
        return bootstrap_mean((result.measure_ious(rule) > self.threshold).astype(float))

    def rank(self, rule: str = "common") -> list[Result]:
        """Good results, the best first: by CorLoc, then by mean IoU."""
        return sorted(
            self.good,
            key=lambda one: (-self.measure_corloc(one, rule).mean, -one.measure_ious(rule).mean(), one.combination),
        )

    def find(self, voter: str, features: str, segmenter: str | None = None) -> Result | None:
        """The good result of a combination, or None."""
        for result in self.good:
            known = result.combination
            if (known.voter, known.features) == (voter, features) and segmenter in (None, known.segmenter):
                return result
        return None

    def find_reference(self, result: Result) -> Result | None:
        """The reference voter on the same segments, with these features scaled as suits it."""
        features, segmenter = result.combination.features, result.combination.segmenter
        own = self.find(self.reference, cut_ending(features), segmenter)
        return own or self.find(self.reference, features, segmenter)

    def measure_difference(self, result: Result) -> Difference | None:
        """How much the reference's overlaps are better, drawn in pairs; None for itself or without reference.

        Mean IoU instead of CorLoc: it has a value per image where CorLoc has a yes or no, so it shows a real difference
        sooner.
        """
        reference = self.find_reference(result)
        if reference is None or reference is result:
            return None
        if reference.names != result.names:
            raise BadInputError("a paired comparison needs the same images; run the comparison again")
        return bootstrap_difference(reference.measure_ious(), result.measure_ious())


def write_result(folder: Path, result: Result) -> None:
    """Write one result under its key."""
    write_json(folder / f"{result.key}.json", asdict(result), indent=None)


def read_result(folder: Path, key: str) -> Result | None:
    """The result of that key, or None where there is none (or only half of one)."""
    path = folder / f"{key}.json"
    if not path.is_file():
        return None
    try:
        return convert_record(read_json(path), Result, path)
    except DamagedFileError:
        return None


def wants_lengths(features: str, voter: str) -> bool:
    """Whether a voter gets vectors with their lengths: what suits it, unless the name of the features says which."""
    if features.endswith((LENGTHS, UNIT)):
        return features.endswith(LENGTHS)
    return keeps_lengths(split_voter(voter)[0])


def split_voter(voter: str) -> tuple[str, bool]:
    """``"f-neg+finish"`` to the name of the voter and whether it is finished."""
    return voter.removesuffix(FINISH), voter.endswith(FINISH)


def add_finished(voters: Sequence[str]) -> tuple[str, ...]:
    """The voters, each followed by itself with the finishing steps; the method has them already."""
    return tuple(name for voter in voters for name in ((voter,) if voter == METHOD else (voter, f"{voter}{FINISH}")))


def cut_ending(features: str) -> str:
    """The name of features without ``:lengths`` or ``:unit``."""
    return features.removesuffix(LENGTHS).removesuffix(UNIT)
