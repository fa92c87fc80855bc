"""The paper's experiments on a public data set: every class by itself, then the mean over classes.

Classes are experiments of their own, each with a comparison folder below the output folder; videos are judged over all
their frames at once, by the paper's threshold for videos.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from segvote.datasets import DATASETS
from segvote.datasets.paper_table import PAPER_METHODS, get_paper_corloc, measure_resolution
from segvote.errors import UnknownNameError
from segvote.evaluation.benchmark_folders import WHOLE, Laid, lay_out_class
from segvote.evaluation.compare import Plan, compare
from segvote.evaluation.compare_results import Comparison
from segvote.metrics.overlap import IMAGE_THRESHOLD, VIDEO_THRESHOLD
from segvote.progress import Progress, ignore_progress
from segvote.run.settings import Settings

__all__ = ["Benchmark", "PaperRow", "benchmark", "make_paper_plan"]

# Ours beside the paper's methods.
OURS = {"ekde_deep (ours)": ("ekde", "lite0"), "ekde (ours)": ("ekde", "bow")}


@dataclass(frozen=True)
class PaperRow:
    """One method beside the paper's figure.

    Attributes
    ----------
    method, voter, features
        The paper's name of it, and ours.
    corloc
        Mean over classes by the rule of the paper: each method's own; nan where there is no result.
    common
        The same by the common rule.
    paper
        The paper's figure, or None.
    is_same
        The difference is smaller than one shot makes: no difference.
    """

    method: str
    voter: str
    features: str
    corloc: float
    common: float
    paper: float | None
    is_same: bool


@dataclass(frozen=True)
class Benchmark:
    """A data set, measured.

    Attributes
    ----------
    name
        Of the data set.
    classes
        Class to its comparison, whose "images" are videos where the set has videos.
    n_items
        Class to its number of videos or images with truth.
    """

    name: str
    classes: dict[str, Comparison]
    n_items: dict[str, int]

    @property
    def resolution(self) -> float:
        """What one shot is worth in the mean over classes."""
        return measure_resolution(self.n_items)

    def measure_mean(self, voter: str, features: str, rule: str) -> float:
        """CorLoc averaged over classes; nan where a class has no result."""
        values = []
        for comparison in self.classes.values():
            result = comparison.find(voter, features)
            values.append(np.nan if result is None else comparison.measure_corloc(result, rule).mean)
        return float(np.mean(values))

    def list_paper_rows(self) -> list[PaperRow]:
        """The paper's methods and ours, beside the paper's figures."""
        return [
            self._make_row(method, voter, features) for method, (voter, features) in {**PAPER_METHODS, **OURS}.items()
        ]

    def _make_row(self, method: str, voter: str, features: str) -> PaperRow:
        corloc, common = (self.measure_mean(voter, features, rule) for rule in ("own", "common"))
        try:
            paper = get_paper_corloc(self.name, method)
        except UnknownNameError:
            paper = None
        same = paper is not None and abs(corloc - paper) < self.resolution
        return PaperRow(method, voter, features, corloc, common, paper, same)


def make_paper_plan(time_limit: float | None = None) -> Plan:
    """The methods of the paper's table, and ours."""
    pairs = tuple(dict.fromkeys([*OURS.values(), *PAPER_METHODS.values()]))
    voters = tuple(dict.fromkeys(voter for voter, _ in pairs))
    features = tuple(dict.fromkeys(features for _, features in pairs))
    return Plan(voters=voters, features=features, time_limit=time_limit, pairs=pairs)


def benchmark(
    name: str,
    path: Path | str,
    out: Path | str,
    plan: Plan | None = None,
    settings: Settings | None = None,
    *,
    class_name: str | None = None,
    n_frames: int = 3,
    max_items: int | None = 200,
    n_jobs: int = 2,
    progress: Progress = ignore_progress,
) -> Benchmark:
    """Run the experiments of a data set that lies on disk.

    Parameters
    ----------
    name, path
        A name of `DATASETS`, and where the data set lies.
    out
        Folder for links, runs and results; what is there already is not done again.
    plan, settings
        As for `compare`; default: the paper's methods and ours.
    class_name
        One class, or None for all.
    n_frames, max_items
        Frames used of each video, as images; 0: videos as they are, cut into supervoxels. Items at most of each kind
        and class.
    n_jobs, progress
        As for `annotate`.
    """
    data = DATASETS[name](path, class_name)
    plan, classes, n_items = plan or make_paper_plan(), {}, {}
    for wanted in data.classes:
        folder = Path(out) / wanted
        laid = lay_out_class(data, wanted, folder / "images", n_frames, max_items)
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
            threshold=VIDEO_THRESHOLD if laid.is_video else IMAGE_THRESHOLD,
            n_jobs=n_jobs,
            progress=_name_steps(progress, wanted),
        )
        classes[wanted], n_items[wanted] = _join_frames(comparison, laid), laid.n_items
    if not classes:
        raise UnknownNameError(f"no class of {name} at {path} has truth; check that its annotations are unpacked")
    return Benchmark(name, classes, n_items)


def _join_frames(comparison: Comparison, laid: Laid) -> Comparison:
    results = [one.group(laid.groups) if one.is_good else one for one in comparison.results]
    return Comparison(comparison.folder, comparison.images, comparison.reference, comparison.threshold, results)


def _name_steps(progress: Progress, class_name: str) -> Progress:
    def report(step: str, done: int, total: int) -> None:
        progress(f"{class_name}: {step}", done, total)

    return report
