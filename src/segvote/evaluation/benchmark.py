"""The paper's experiments on a public data set: every class by itself, then the mean over classes.

Classes are experiments of their own, each with a comparison folder below the output folder; videos are judged over all
their frames at once, by the paper's threshold for videos.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from segvote.datasets import DATASETS
from segvote.datasets.paper_table import PAPER_METHODS, find_paper_corloc, measure_resolution
from segvote.errors import UnknownNameError
from segvote.evaluation.benchmark_folders import WHOLE, Laid, lay_out_class
from segvote.evaluation.compare import Plan, compare
from segvote.evaluation.compare_results import Comparison
from segvote.metrics.overlap import IMAGE_THRESHOLD, VIDEO_THRESHOLD
from segvote.progress import Progress, ignore_progress
from segvote.run.settings import Settings
from segvote.steps.workers import N_JOBS
from segvote.voters import METHOD

# Ours beside the paper's methods.
OURS = {"method, deep (ours)": (METHOD, "lite0"), "method (ours)": (METHOD, "bow")}
# The rule whose CorLoc stands beside the paper's: each method's own threshold after the second voting.
PAPER_RULE = "printed"
# What `--as-paper` segments with; sides are those of the paper's network input.
PAPER_SETTINGS = Settings(segmenter="gpb", size=224, detail="coarse")


@dataclass(frozen=True)
class RowFeatures:
    """Features of the paper's rows: its network (VGG-19) and its visual words; rows of `OURS` keep theirs."""

    deep: str = "lite0"
    words: str = "bow"

    def list_rows(self) -> dict[str, tuple[str, str]]:
        """Voter and features of the paper's methods and of ours."""
        kinds = {"lite0": self.deep, "bow": self.words}
        return {name: (voter, kinds[features]) for name, (voter, features) in PAPER_METHODS.items()} | OURS


@dataclass(frozen=True)
class Benchmark:
    """A data set, measured."""

    name: str  # of the data set
    classes: dict[str, Comparison]  # class to its comparison, whose "images" are videos where the set has videos
    n_items: dict[str, int]  # class to its number of videos or images with truth
    row_features: RowFeatures = RowFeatures()  # features of the rows beside the paper
    # Class to its comparison image by image, and its folders and truth, of which pictures can be shown; none of whole
    # videos.
    pictures: Mapping[str, tuple[Comparison, Laid]] = field(default_factory=dict)

    @property
    def resolution(self) -> float:
        """What one shot is worth in the mean over classes."""
        return measure_resolution(self.n_items)

    @property
    def has_paper(self) -> bool:
        """Whether the paper has figures of these classes."""
        return any(find_paper_corloc(self.name, name, "eKDE") is not None for name in self.classes)

    def measure_mean(self, voter: str, features: str, rule: str) -> float:
        """CorLoc averaged over classes; nan where a class has no result."""
        return float(np.mean([_measure(comparison, voter, features, rule) for comparison in self.classes.values()]))

    def list_notes(self, voter: str, features: str) -> tuple[str, ...]:
        """What a voter warned of, or why it has no result, with the class in which that was."""
        results = [
            (name, one)
            for name, known in self.classes.items()
            for one in known.results
            if (one.combination.voter, one.combination.features) == (voter, features)
        ]
        return tuple(f"{name}: {note}" for name, one in results for note in (*one.notes, one.reason) if note)

    def find_paper(self, method: str) -> float | None:
        """Mean of the paper's figures of the classes measured; None where it lacks one of them."""
        figures = [find_paper_corloc(self.name, name, method) for name in self.classes]
        known = [figure for figure in figures if figure is not None]
        return float(np.mean(known)) if len(known) == len(figures) else None

    def list_class_pairs(self, method: str) -> dict[str, tuple[float, float | None]]:
        """Class to our CorLoc of one of the paper's methods, by `PAPER_RULE`, and to the paper's figure of that class.

        nan where we have no result, None where the paper has no such class.
        """
        voter, features = self.row_features.list_rows()[method]
        return {
            name: (_measure(comparison, voter, features, PAPER_RULE), find_paper_corloc(self.name, name, method))
            for name, comparison in self.classes.items()
        }


def _measure(comparison: Comparison, voter: str, features: str, rule: str) -> float:
    result = comparison.find(voter, features)
    return float("nan") if result is None else comparison.measure_corloc(result, rule).mean


def make_paper_plan(row_features: RowFeatures = RowFeatures()) -> Plan:
    """The methods of the paper's table, and ours."""
    pairs = tuple(dict.fromkeys([*OURS.values(), *row_features.list_rows().values()]))
    voters = tuple(dict.fromkeys(voter for voter, _ in pairs))
    features = tuple(dict.fromkeys(features for _, features in pairs))
    return Plan(voters=voters, features=features, pairs=pairs)


def benchmark(
    name: str,
    path: Path | str,
    out: Path | str,
    plan: Plan | None = None,
    settings: Settings | None = None,
    *,
    row_features: RowFeatures = RowFeatures(),
    label_maps: Path | str | None = None,
    class_name: str | None = None,
    n_frames: int = 3,
    max_items: int | None = 200,
    n_jobs: int = N_JOBS,
    progress: Progress = ignore_progress,
) -> Benchmark:
    """Run the experiments of a data set of `DATASETS` that lies on disk; what is in `out` already is not done again.

    As for `compare`, but the default plan has the paper's methods and ours. Of each video `n_frames` are used, as
    images; 0: whole videos. At most `max_items` of each kind and class, of one class or (None) of all. Beside the
    paper stand the rows of `row_features`. `label_maps` is a folder of label maps or contour maps named like the images
    of the data set (of a video: ``SHOT/FRAME``), in the place of a segmenter.
    """
    data = DATASETS[name](path, class_name)
    plan = plan or make_paper_plan()
    classes, n_items, pictures = {}, {}, {}
    for wanted in data.classes:
        folder = Path(out) / wanted
        laid = lay_out_class(data, wanted, folder / "images", n_frames, max_items, label_maps)
        if laid.n_items == 0:
            continue  # nothing to measure: it still serves the other classes as *without*
        # A whole shot is a video even where its few frames would not look like one.
        chosen = replace(settings or Settings(), frames="video") if laid.is_video and n_frames == WHOLE else settings
        comparison = compare(
            *laid.folders,
            laid.readers,
            folder,
            plan,
            chosen,
            label_maps=laid.label_maps,
            threshold=VIDEO_THRESHOLD if laid.is_video else IMAGE_THRESHOLD,
            n_jobs=n_jobs,
            progress=_name_steps(progress, wanted),
        )
        classes[wanted], n_items[wanted] = _join_frames(comparison, laid), laid.n_items
        if not (laid.is_video and n_frames == WHOLE):
            pictures[wanted] = comparison, laid
    if not classes:
        raise UnknownNameError(f"no class of {name} at {path} has truth; check that its annotations are unpacked")
    return Benchmark(name, classes, n_items, row_features, pictures)


def _join_frames(comparison: Comparison, laid: Laid) -> Comparison:
    results = [one.group(laid.groups) if one.is_good else one for one in comparison.results]
    return replace(comparison, results=results)


def _name_steps(progress: Progress, class_name: str) -> Progress:
    def report(step: str, done: int, total: int) -> None:
        progress(f"{class_name}: {step}", done, total)

    return report
