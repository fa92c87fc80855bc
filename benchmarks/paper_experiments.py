"""The experiments of `paper.py`: voters side by side, the printed eKDE with many bandwidths, and two studies.

Of each folder the same few images are taken, evenly spread over the sorted names. Everything is kept in the work
folder.
"""

from __future__ import annotations

import itertools
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from segvote.datasets.paper_table import PAPER_METHODS
from segvote.evaluation.compare import Plan, compare
from segvote.evaluation.compare_results import FINISH, LENGTHS, UNIT, Comparison, Result
from segvote.evaluation.compare_stage import Stage, decide_by_rules, prepare_stage
from segvote.evaluation.evaluate import rank_segments
from segvote.evaluation.evaluate_segments import measure_ious
from segvote.evaluation.evaluate_truth import list_truth
from segvote.io.images import list_images
from segvote.io.tables import read_json, write_json
from segvote.method.graph import stretch
from segvote.method.table import SegmentTable
from segvote.metrics.overlap import IMAGE_THRESHOLD
from segvote.run.settings import Settings
from segvote.steps.vote import decide_votes
from segvote.voters import METHOD, SYSTEMS, VOTERS
from segvote.voters.bandwidths import BANDWIDTH_RULES, GRID, search_window
from segvote.voters.base import check_segments
from segvote.voters.paper import PaperEKDE

PHOTOGRAPHS = ("cows", "aeroplanes", "street-cars", "msrc-face", "msrc-sign", "msrc-dog", "dogs-not-cats")
SURFACES = ("tile-break", "tile-fray", "steel-patches", "coffee-lesions", "potholes", "asphalt-cracks")
SETS = (*PHOTOGRAPHS, *SURFACES, "blood-cells", "glands", "ultrasound")
# Images of each folder: with all of them the sets take most of a day.
N_IMAGES = 12
# Half of the usual number, which ranks as well: the slowest voters look at all pairs.
N_SEGMENTS = 100
# One look for all: whether a closer one is taken would be decided by one of the competitors.
SETTINGS = Settings(n_segments=N_SEGMENTS, detail="coarse", draw="segments")
NO_BASELINES = (METHOD, "ekde-paper", "walk", "walk-adapted")  # ours, and the printed eKDE
VOTER_OPTIONS = {"activation": {"blocks": (40, 112, 320)}}  # the layers of lite0
PARTS = ("voters", "printed", "words", "gpb")
GAINS = (1.0, 2.0, 4.0, 8.0)
ADAPTED = {"walk": False, "ekde-paper": True}  # whether features keep their lengths


@dataclass(frozen=True)
class Job:
    """Where things lie, and how much may be done at once."""

    data: Path
    out: Path
    n_images: int
    n_jobs: int = 1

    def lay_out(self, name: str) -> tuple[Path, Path, Path]:
        """The chosen images of a set as two folders of links, and its masks."""
        folders = self.out / name / "images" / "with", self.out / name / "images" / "without"
        for folder in folders:
            spread_images(self.data / name / folder.name, folder, self.n_images)
        return *folders, self.data / name / "masks"

    def prepare(self, name: str, kinds: set[bool]) -> Stage:
        """Segments, features and truth of a set, in the folder of its comparison."""
        *folders, masks = self.lay_out(name)
        out = self.out / name / "comparison" / "run"
        return prepare_stage((folders[0], folders[1]), list_truth(masks), out, SETTINGS, kinds, self.n_jobs)

    def compare(self, name: str, plan: Plan, feature_options: Mapping[str, Any] | None = None) -> Comparison:
        settings = replace(SETTINGS, feature_options=dict(feature_options or {}))
        out = self.out / name / "comparison"
        return compare(*self.lay_out(name), out, plan, settings, n_jobs=self.n_jobs, progress=report_steps(name))


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


def list_passes(voters: Sequence[str] = SYSTEMS) -> dict[str, Plan]:
    """What is compared on every set, by part."""
    pairs = (*PAPER_METHODS.values(), (METHOD, "lite0"), (METHOD, "bow"))
    methods = tuple(dict.fromkeys(voter for voter, _ in pairs))
    return {
        "voters": Plan(voters=tuple(voters), voter_options=VOTER_OPTIONS),
        "words": Plan(voters=methods, features=("bow",)),
        "gpb": Plan(voters=methods, features=("lite0", "bow"), segmenters=("gpb",), pairs=pairs),
    }


def compare_all(
    job: Job, names: Sequence[str], parts: Sequence[str], voters: Sequence[str] = SYSTEMS
) -> dict[str, Comparison]:
    """The parts asked for over all sets, the most telling first; the results of one set together."""
    found: dict[str, Comparison] = {}
    for part, plan in list_passes(voters).items():
        for name in names if part in parts else ():
            found[name] = join_results(found.get(name), job.compare(name, plan))
        if part == "voters" and found:
            finished = Plan(voters=(f"{find_best_baseline(found)}{FINISH}",))
            found = {name: join_results(found[name], job.compare(name, finished)) for name in names}
    return found


def join_results(known: Comparison | None, more: Comparison) -> Comparison:
    return replace(more, results=[*(known.results if known else []), *more.results])


def find_best_baseline(comparisons: Mapping[str, Comparison]) -> str:
    """The bare voter with the highest mean CorLoc by the common rule, then AP; neither ours nor eKDE."""
    means: dict[str, tuple[float, float]] = {}
    for voter in dict.fromkeys(one.combination.voter for known in comparisons.values() for one in known.good):
        results = [(known, known.find(voter, "lite0", "ward")) for known in comparisons.values()]
        figures = [(known.measure_corloc(one).mean, one.segment_ap) for known, one in results if one]
        if voter not in NO_BASELINES and not voter.endswith(FINISH) and len(figures) == len(comparisons):
            corloc, ap = np.mean(figures, axis=0)
            means[voter] = float(corloc), float(ap)
    return max(means, key=lambda voter: means[voter])


# The printed eKDE ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Printed:
    """The printed eKDE with one choice of bandwidths on one set.

    Attributes
    ----------
    pair
        s+ and s-.
    ap
        Area-weighted average precision of the segments.
    corloc, common
        By sgn f after the second voting as printed; by the common rule.
    selected
        Share of the *with* segments with f > 0.
    scale, ratio, rho, plausibility
        Of a point near the window: s- in units of the typical distance, s+ / s-, the spectral radius, and what the rule
        ``window`` maximises.
    """

    pair: tuple[float, float]
    ap: float
    corloc: float
    common: float
    selected: float
    scale: float = 0.0
    ratio: float = 0.0
    rho: float = 0.0
    plausibility: float = 0.0


@dataclass(frozen=True)
class PrintedSet:
    """All pairs of the grid on one set, what each rule chooses, and the points near the window."""

    grid: Sequence[Printed]
    rules: Mapping[str, Printed]
    window: Sequence[Printed]

    def find(self, pair: tuple[float, float]) -> Printed:
        return next(one for one in self.grid if one.pair == pair)


def measure_printed(job: Job, name: str) -> PrintedSet:
    """Measure a set; what the work folder holds is read."""
    path = job.out / name / "comparison" / "pairs" / "printed.json"
    if path.is_file():
        return _parse(read_json(path))
    stage = job.prepare(name, {True})
    grid = [fit_printed(stage, bandwidth_for=wide, bandwidth_against=s) for wide, s in itertools.product(GRID, GRID)]
    rules = {rule: fit_printed(stage, bandwidth_rule=rule) for rule in BANDWIDTH_RULES}
    found = PrintedSet(grid, rules, list(_list_window(stage)))
    write_json(path, asdict(found))
    return found


def fit_printed(stage: Stage, **options: Any) -> Printed:
    table = stage.tables[True]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # most readings select all or nothing, which is what is measured
        voter = PaperEKDE(**options).fit(table.X, table.is_candidate, bags=table.bags)
    return judge_votes(stage, voter.scores_, (voter.bandwidth_for_, voter.bandwidth_against_))


def _list_window(stage: Stage) -> Iterator[Printed]:
    table = stage.tables[True]
    for point in search_window(check_segments(table.X, table.is_candidate, table.bags, None, None)):
        names = ("scale", "ratio", "rho", "plausibility")
        yield replace(judge_votes(stage, point.scores), **{name: getattr(point, name) for name in names})


def judge_votes(stage: Stage, votes: np.ndarray, pair: tuple[float, float] = (0.0, 0.0)) -> Printed:
    """Votes (n_segments,) judged by the masks of a set."""
    table = stage.tables[True]
    scores, _, decisions = decide_by_rules(table, votes, replace(SETTINGS, voter="ekde-paper"), stage.n_matched)
    ap = rank_scores(stage, scores)
    corloc, common = (_measure_corloc(stage, decisions[rule]) for rule in ("printed", "common"))
    selected = float((votes[table.is_candidate] > 0).mean())
    return Printed(pair, *(round(figure, 4) for figure in (ap, corloc, common, selected)))


def rank_scores(stage: Stage, scores: np.ndarray) -> float:
    parts = [scores[stage.run.get_slice(index)] for index in stage.truth]
    return rank_segments(parts, list(stage.truth.values())).segment_ap


def _measure_corloc(stage: Stage, selected: np.ndarray) -> float:
    overlaps = [one.measure(selected[stage.run.get_slice(index)]) for index, one in stage.truth.items()]
    return float((measure_ious(np.array(overlaps)) > IMAGE_THRESHOLD).mean())


def _parse(data: dict[str, Any]) -> PrintedSet:
    def read(one: dict[str, Any]) -> Printed:
        return Printed(**{**one, "pair": tuple(one["pair"])})

    rules = {rule: read(one) for rule, one in data["rules"].items()}
    return PrintedSet([read(one) for one in data["grid"]], rules, [read(one) for one in data["window"]])


# Studies -------------------------------------------------------------------------------------------------------------


def study_lengths(job: Job, names: Sequence[str], features: str) -> list[list[str]]:
    """CorLoc by the common and the own rule and AP of every voter, with blocks of length one and with lengths."""
    both = (f"{features}{UNIT}", f"{features}{LENGTHS}")
    plan = Plan(voters=tuple(VOTERS), features=both, voter_options=VOTER_OPTIONS)
    # Without counts words have length one either way.
    known = [job.compare(name, plan, {"counts": True} if features == "bow" else None) for name in names]
    heads = ("CorLoc, unit", "lengths", "own rule, unit", "lengths", "AP, unit", "lengths", "better AP on", "keeps")
    rows = [["voter", *heads]]
    for voter in VOTERS:
        unit, kept = (np.array([_list_figures(one, one.find(voter, name)) for one in known]) for name in both)
        pairs = [f"{mean:.2f}" for two in zip(unit.mean(axis=0), kept.mean(axis=0), strict=True) for mean in two]
        wins = f"{(kept[:, 2] > unit[:, 2]).sum()} of {len(known)}"
        rows.append([voter, *pairs, wins, "yes" if VOTERS[voter].wants_lengths else "no"])
    return rows


def _list_figures(comparison: Comparison, result: Result | None) -> tuple[float, float, float]:
    if result is None:
        return (np.nan,) * 3
    common, own = (comparison.measure_corloc(result, rule).mean for rule in ("common", "own"))
    return common, own, result.segment_ap


def study_adaptation(job: Job, names: Sequence[str]) -> list[list[str]]:
    """AP of the walk and of the printed eKDE by gain."""
    warnings.simplefilter("ignore")  # the printed eKDE says that it selects nothing
    rows, found = [["set", *(f"{voter} x {gain:g}" for voter in ADAPTED for gain in GAINS)]], []
    for name in names:
        stage = job.prepare(name, {True, False})
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
