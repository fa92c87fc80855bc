"""The experiments of `paper.py`: voters side by side, the printed eKDE with many bandwidths, and adapted features.

Of each folder the same few images are taken, evenly spread over the sorted names. Results are kept in the work folder.
"""

from __future__ import annotations

import itertools
import shutil
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from segvote.datasets.paper_table import PAPER_METHODS
from segvote.evaluation.compare import FINISH, Experiment, Stage, compare_combinations, list_combinations, prepare_stage
from segvote.evaluation.comparison import Combination, Comparison
from segvote.evaluation.evaluate import rank_segments
from segvote.evaluation.rules import decide_by_rules
from segvote.evaluation.segments import measure_ious
from segvote.evaluation.truth import list_truth
from segvote.io.images import list_images
from segvote.io.tables import convert_record, read_json, write_json
from segvote.method.graph import stretch
from segvote.method.table import SegmentTable
from segvote.metrics.overlap import IMAGE_THRESHOLD
from segvote.pipeline.vote import decide_votes
from segvote.pipeline.workers import Resources
from segvote.settings import Settings
from segvote.voters import METHOD, SYSTEMS, VOTERS
from segvote.voters.bandwidths import BANDWIDTH_RULES, GRID, search_window
from segvote.voters.base import check_segments
from segvote.voters.paper import PaperEKDE

PHOTOGRAPHS = ("cows", "aeroplanes", "street-cars", "msrc-face", "msrc-sign", "msrc-dog", "dogs-not-cats")
SURFACES = ("tile-break", "tile-fray", "steel-patches", "coffee-lesions", "potholes", "asphalt-cracks")
SETS = (*PHOTOGRAPHS, *SURFACES, "blood-cells", "glands", "ultrasound")
# Images of each folder: with all of them the sets take most of a day.
N_IMAGES = 12
# Half of the usual number of segments, which ranks as well: the slowest voters look at all pairs.
SETTINGS = Settings(n_segments=100, detail="coarse", draw="segments")
NO_BASELINES = (METHOD, "ekde-paper", "walk", "walk-adapted")  # ours, and the printed eKDE
VOTER_OPTIONS = {"activation": {"blocks": (40, 112, 320)}}  # the layers of lite0
PARTS = ("voters", "printed", "words", "gpb", "vgg", "vgg-gpb")
# eKDE_deep and the baselines on a VGG as in the paper (224 x 224 pixels, max-pooled) beside the network of `annotate`.
DEEP_FEATURES = ("vgg16", "lite0")
DEEP_VOTERS = ("ekde-paper", "obow", "milboost", "crane", METHOD)
GAINS = (1.0, 2.0, 4.0, 8.0)
ADAPTED = {"walk": False, "ekde-paper": True}  # whether features keep their lengths


@dataclass(frozen=True)
class Job:
    """The folders of the data and of the work, and the size of the job."""

    data: Path
    out: Path
    n_images: int
    n_jobs: int = 1

    def link_images(self, name: str) -> tuple[Path, Path]:
        """The chosen images of a set as two folders of links."""
        folders = self.out / name / "images" / "with", self.out / name / "images" / "without"
        for folder in folders:
            spread_images(self.data / name / folder.name, folder, self.n_images)
        return folders

    def prepare(self, name: str) -> Stage:
        """Segments, features and truth of a set, in the folder of its comparison."""
        readers, out = list_truth(self.data / name / "masks"), self.out / name / "comparison" / "run"
        return prepare_stage(self.link_images(name), readers, out, SETTINGS, Resources(self.n_jobs))

    def compare(self, name: str, combinations: Sequence[Combination]) -> Comparison:
        readers, out = list_truth(self.data / name / "masks"), self.out / name / "comparison"
        resources = Resources(self.n_jobs, progress=report_steps(name))
        options: dict[str, Any] = {"voter_options": VOTER_OPTIONS, "resources": resources}
        return compare_combinations(Experiment(self.link_images(name), readers, out, combinations, SETTINGS, **options))


def spread_images(source: Path, target: Path, n_images: int) -> None:
    """Links to `n_images` images of a folder, evenly spread over the sorted names; 0: to all."""
    files = list_images(source)
    count = min(n_images or len(files), len(files))
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in (files[place * len(files) // count] for place in range(count)):
        (target / path.name).symlink_to(path.resolve())


def report_steps(name: str) -> Callable[[str, int, int], None]:
    started = time.perf_counter()

    def report(step: str, done: int, total: int) -> None:
        if step == "compare":
            print(f"{name}, {step}: {done} of {total} after {time.perf_counter() - started:.0f} s", flush=True)

    return report


# Comparisons ---------------------------------------------------------------------------------------------------------


def list_passes() -> dict[str, list[Combination]]:
    """The combinations that are compared on every set, by part."""
    pairs = (*PAPER_METHODS.values(), (METHOD, "lite0"), (METHOD, "bow"))
    return {
        "voters": list_combinations(SYSTEMS),
        "words": list_combinations(dict.fromkeys(voter for voter, _ in pairs), ["bow"]),
        "gpb": sorted({Combination("gpb", features, voter) for voter, features in pairs}),
        "vgg": list_combinations(DEEP_VOTERS, DEEP_FEATURES),
        "vgg-gpb": list_combinations(DEEP_VOTERS, DEEP_FEATURES, ["gpb"]),
    }


def compare_all(job: Job, names: Sequence[str], parts: Sequence[str]) -> dict[str, Comparison]:
    """The parts asked for over all sets, the most important first; the results of one set together."""
    found: dict[str, Comparison] = {}
    for part, combinations in list_passes().items():
        for name in names if part in parts else ():
            found[name] = join_results(found.get(name), job.compare(name, combinations))
        if part == "voters" and found:
            finished = list_combinations([f"{find_best_baseline(found)}{FINISH}"])
            found = {name: join_results(found[name], job.compare(name, finished)) for name in names}
    return found


def join_results(known: Comparison | None, more: Comparison) -> Comparison:
    return replace(more, results=[*(known.results if known else []), *more.results])


def find_best_baseline(comparisons: Mapping[str, Comparison]) -> str:
    """The bare voter with the highest mean CorLoc by the common rule, then AP; neither ours nor eKDE."""
    means: dict[str, tuple[float, float]] = {}
    for voter in dict.fromkeys(one.combination.voter for known in comparisons.values() for one in known.good):
        results = [(known, known.find(voter, "lite0", "ward")) for known in comparisons.values()]
        figures = [(known.measure_corloc(one).mean, one.ranking.segment_ap) for known, one in results if one]
        if voter not in NO_BASELINES and not voter.endswith(FINISH) and len(figures) == len(comparisons):
            corloc, ap = np.mean(figures, axis=0)
            means[voter] = float(corloc), float(ap)
    return max(means, key=lambda voter: means[voter])


def rank_scores(stage: Stage, scores: np.ndarray) -> float:
    return rank_segments(stage.split(scores), list(stage.truth.values())).segment_ap


# The printed eKDE ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Printed:
    """The printed eKDE with one choice of bandwidths on one set."""

    pair: tuple[float, float]  # s+ and s-
    ap: float  # of the segments, weighted by area
    corloc: float  # by sgn f after the second voting as printed
    common: float  # CorLoc by the common rule
    selected: float  # share of the *with* segments with f > 0
    # Of a point near the window: s- in units of the typical distance, s+ / s-, the spectral radius, and the figure that
    # the rule ``window`` maximises.
    scale: float = 0.0
    ratio: float = 0.0
    rho: float = 0.0
    plausibility: float = 0.0


@dataclass(frozen=True)
class PrintedSet:
    """All pairs of the grid on one set, those that each rule chooses, and the points near the window."""

    grid: list[Printed]
    rules: dict[str, Printed]
    window: list[Printed]

    def find(self, pair: tuple[float, float]) -> Printed:
        return next(one for one in self.grid if one.pair == pair)


def measure_printed(job: Job, name: str) -> PrintedSet:
    """Measure a set, or read the stored figures."""
    path = job.out / name / "comparison" / "results" / "printed.json"
    if path.is_file():
        return convert_record(read_json(path), PrintedSet, path)
    stage = job.prepare(name)
    grid = [fit_printed(stage, bandwidth_for=wide, bandwidth_against=s) for wide, s in itertools.product(GRID, GRID)]
    rules = {rule: fit_printed(stage, bandwidth_rule=rule) for rule in BANDWIDTH_RULES}
    table, names = stage.tables[True], ("scale", "ratio", "rho", "plausibility")
    points = search_window(check_segments(table.X, table.is_candidate, table.bags, None, None))
    window = [judge_printed(stage, point.scores, **{name: getattr(point, name) for name in names}) for point in points]
    found = PrintedSet(grid, rules, window)
    write_json(path, asdict(found))
    return found


def fit_printed(stage: Stage, **options: Any) -> Printed:
    table = stage.tables[True]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # most readings select all or nothing, which is measured
        voter = PaperEKDE(**options).fit(table.X, table.is_candidate, bags=table.bags)
    return judge_printed(stage, voter.scores_, (voter.bandwidth_for_, voter.bandwidth_against_))


def judge_printed(stage: Stage, votes: np.ndarray, pair: tuple[float, float] = (0.0, 0.0), **point: float) -> Printed:
    table = stage.tables[True]
    scores, _, selections = decide_by_rules(table, votes, replace(SETTINGS, voter="ekde-paper"), stage.n_matched)
    corlocs = [
        float((measure_ious(stage.measure(selections[rule])) > IMAGE_THRESHOLD).mean())
        for rule in ("printed", "common")
    ]
    figures = (rank_scores(stage, scores), *corlocs, float((votes[table.is_candidate] > 0).mean()))
    return Printed(pair, *(round(figure, 4) for figure in figures), **point)


# Features fitted to the image labels ---------------------------------------------------------------------------------


def study_adaptation(job: Job, names: Sequence[str]) -> list[list[str]]:
    """AP of the walk and of the printed eKDE by gain."""
    warnings.simplefilter("ignore")  # the printed eKDE warns that it selects nothing
    rows, found = [["set", *(f"{voter} x {gain:g}" for voter in ADAPTED for gain in GAINS)]], []
    for name in names:
        stage = job.prepare(name)
        found.append(
            [
                measure_adapted(stage, stage.tables[lengths], voter, gain)
                for voter, lengths in ADAPTED.items()
                for gain in GAINS
            ]
        )
        rows.append([name, *(f"{figure:.2f}" for figure in found[-1])])
    return [*rows, ["mean", *(f"{figure:.3f}" for figure in np.mean(found, axis=0))]]


def measure_adapted(stage: Stage, table: SegmentTable, voter: str, gain: float) -> float:
    labels = table.is_candidate
    u = VOTERS["cam"]().fit(table.X, labels, bags=table.bags).coef_
    X = stretch(table.X, u / np.linalg.norm(u), gain)
    fitted = VOTERS[voter]().fit(X, labels, bags=table.bags)
    return rank_scores(stage, decide_votes(replace(table, X=X), fitted.scores_, SETTINGS)[0])
