"""Robustness curves: the vote with bags in the wrong folder, few images, other numbers of segments, noisy features.

Every measurement is a small file under a key of all that decides it, as in `compare`. Draws are seeded by their number,
so that every voter meets the same accident, and the weaker stress is not an easier draw of the stronger one. An
accident takes a table, a level and a random generator, and gives a changed copy and the numbers that its bags had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from segvote import __version__
from segvote.errors import BadInputError, DamagedFileError
from segvote.evaluation.compare import Plan, format_reason
from segvote.evaluation.compare_results import split_voter, wants_lengths
from segvote.evaluation.compare_stage import Stage, count_votes, hash_inputs, measure_segments, prepare_stage
from segvote.evaluation.evaluate import rank_segments
from segvote.evaluation.evaluate_segments import measure_ious
from segvote.evaluation.evaluate_truth import TruthReader, list_truth
from segvote.io.tables import read_json, write_json
from segvote.method.table import SegmentTable
from segvote.metrics.overlap import IMAGE_THRESHOLD
from segvote.progress import Progress, ignore_progress
from segvote.run.run_folder import RunFolder, make_key
from segvote.run.settings import Settings
from segvote.steps.vote import decide_votes
from segvote.steps.workers import N_JOBS
from segvote.voters import check_system


def flip_labels(table: SegmentTable, level: float, rng: np.random.Generator) -> tuple[SegmentTable, np.ndarray]:
    """Put this part of the bags of each kind into the other folder; at least one of each stays where it is."""
    labels = table.bag_labels.copy()
    for kind in (True, False):
        # One order for all levels: a bag that is wrong at 5 % is wrong at 20 % too.
        members = rng.permutation(np.flatnonzero(table.bag_labels == kind))
        wrong = members[: min(round(level * len(members)), len(members) - 1)]
        labels[wrong] = not kind
    return table.relabel(labels), np.arange(len(labels))


def draw_bags(table: SegmentTable, level: float, rng: np.random.Generator) -> tuple[SegmentTable, np.ndarray]:
    """Keep `level` bags of each kind."""
    kept = []
    for kind, name in ((True, "with"), (False, "without")):
        members = np.flatnonzero(table.bag_labels == kind)
        if len(members) < level:
            raise BadInputError(f"there are only {len(members)} images {name}, fewer than {level:g}")
        kept.append(rng.permutation(members)[: int(level)])
    chosen = np.sort(np.concatenate(kept))
    return take_bags(table, chosen), chosen


def add_noise(table: SegmentTable, level: float, rng: np.random.Generator) -> tuple[SegmentTable, np.ndarray]:
    """Add Gaussian noise of `level` times each feature's standard deviation."""
    noise = rng.standard_normal(table.X.shape, dtype=np.float32)
    X = table.X + np.float32(level) * table.X.std(axis=0) * noise
    return replace(table, X=X), np.arange(len(table.bag_labels))


def take_bags(table: SegmentTable, bags: np.ndarray) -> SegmentTable:
    """The table of some bags only, in their order, numbered anew."""
    rows, images = np.isin(table.bags, bags), np.isin(table.groups, bags)
    edges, numbers = rows[table.edges[:, 0]], np.cumsum(rows) - 1
    per_segment = {name: getattr(table, name)[rows] for name in ("X", "areas", "border", "prior", "centres")}
    return SegmentTable(
        **per_segment,
        images=(np.cumsum(images) - 1)[table.images[rows]],
        groups=np.searchsorted(np.unique(bags), table.groups[images]),
        positive=table.positive[images],
        edges=numbers[table.edges[edges]],
        lengths=table.lengths[edges],
        contrasts=table.contrasts[edges],
    )


@dataclass(frozen=True)
class Stress:
    """One kind of accident."""

    name: str
    title: str  # on the page
    levels: tuple[float, ...]  # how bad it gets
    # Table, level and random generator to the changed table and the numbers of the bags that are left; None where the
    # segments themselves change.
    change: Callable[[SegmentTable, float, np.random.Generator], tuple[SegmentTable, np.ndarray]] | None = None

    def format_level(self, level: float) -> str:
        """A level as people say it."""
        if self.name == "labels":
            return f"{100 * level:g} %"
        return f"{level:g}+{level:g}" if self.name == "images" else f"{level:g}"


STRESSES = {
    one.name: one
    for one in (
        Stress("labels", "bags in the wrong folder", (0.0, 0.05, 0.1, 0.2), flip_labels),
        Stress("images", "number of images, with + without", (10, 20, 50), draw_bags),
        Stress("segments", "number of segments", (50, 100, 200, 400)),
        Stress("features", "noise added to the features, in standard deviations", (0.0, 0.5, 1.0, 2.0), add_noise),
    )
}


@dataclass(frozen=True)
class StressPoint:
    """Mean over the draws; None where there is no result, and then `reason` says why."""

    corloc: float | None = None
    miou: float | None = None
    ap: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class StressCurve:
    """One voter under one kind of stress: a point for each of its levels."""

    kind: Stress
    voter: str
    points: list[StressPoint]

    @property
    def levels(self) -> tuple[float, ...]:
        return self.kind.levels


def stress(
    with_folder: Path | str,
    without_folder: Path | str,
    truth: Path | str | Mapping[str, TruthReader],
    out: Path | str,
    plan: Plan | None = None,
    settings: Settings | None = None,
    *,
    kinds: Sequence[str | Stress] = tuple(STRESSES),
    n_draws: int = 3,
    label: str | None = None,
    threshold: float = IMAGE_THRESHOLD,
    n_jobs: int = N_JOBS,
    progress: Progress = ignore_progress,
) -> list[StressCurve]:
    """Measure every voter of a plan under every kind of stress, with the plan's first features and segmenter.

    As for `compare`; `kinds` are names of `STRESSES`, or kinds of your own (the same with other levels). Chance is
    asked `n_draws` times, and the mean is kept.
    """
    plan, settings = plan or Plan(), measure_segments(settings or Settings())
    settings = replace(settings, features=plan.features[0], segmenter=plan.segmenters[0])
    readers = truth if isinstance(truth, Mapping) else list_truth(truth, label)
    folders = (Path(with_folder), Path(without_folder))
    job = _Job(folders, readers, Path(out), plan, settings, n_draws, threshold, n_jobs, progress)
    for voter in plan.voters:
        check_system(split_voter(voter)[0])
    with RunFolder(out).lock():
        return list(job.carry_out([STRESSES[kind] if isinstance(kind, str) else kind for kind in kinds]))


@dataclass
class _Job:
    """One call of `stress`."""

    folders: tuple[Path, Path]
    readers: Mapping[str, TruthReader]
    out: Path
    plan: Plan
    settings: Settings
    n_draws: int
    threshold: float
    n_jobs: int
    progress: Progress
    _stage: tuple[int, Stage] | None = None

    def __post_init__(self) -> None:
        self.input = hash_inputs(self.folders, self.readers, self.settings)

    def carry_out(self, kinds: Sequence[Stress]) -> Iterator[StressCurve]:
        total = sum(len(kind.levels) for kind in kinds) * len(self.plan.voters)
        done = 0
        for kind in kinds:
            points: dict[str, list[StressPoint]] = {voter: [] for voter in self.plan.voters}
            for level in kind.levels:  # outside of the voters: stages are shared
                for voter in self.plan.voters:
                    points[voter].append(self._measure_level(kind, level, voter))
                    done += 1
                    self.progress("stress", done, total)
            yield from (StressCurve(kind, voter, found) for voter, found in points.items())

    def _measure_level(self, kind: Stress, level: float, voter: str) -> StressPoint:
        # Where chance has nothing to say, one draw says all.
        n_draws = 1 if kind.change is None or level == 0 else self.n_draws
        points = [self._get_point(kind, level, voter, draw) for draw in range(n_draws)]
        for point in points:
            if point.reason:
                return point
        figures = np.array([(point.corloc, point.miou, point.ap) for point in points], dtype=float)
        return StressPoint(*figures.mean(axis=0).tolist())

    def _get_point(self, kind: Stress, level: float, voter: str, draw: int) -> StressPoint:
        settings = self._make_settings(kind, level, voter)
        # At level 0 nothing is changed, whatever the kind: one measurement serves all.
        accident = {} if level == 0 or kind.change is None else {"kind": kind.name, "level": level, "draw": draw}
        decided = {"settings": settings.to_dict(), "input": self.input, "threshold": self.threshold}
        path = self.out / "stress" / f"{make_key(version=__version__, **decided, **accident)}.json"
        try:
            return StressPoint(**read_json(path))
        except (BadInputError, DamagedFileError, TypeError):
            point = self._try_point(kind, level, settings, draw)
            write_json(path, asdict(point))
            return point

    def _make_settings(self, kind: Stress, level: float, voter: str) -> Settings:
        n_segments = int(level) if kind.change is None else self.settings.n_segments
        return replace(self.plan.choose_voter(self.settings, voter), n_segments=n_segments)

    def _try_point(self, kind: Stress, level: float, settings: Settings, draw: int) -> StressPoint:
        try:
            stage = self._get_stage(settings.n_segments)
            table = stage.tables[wants_lengths(settings.features, settings.voter)]
            kept = np.arange(len(table.positive))
            if kind.change is not None and level > 0:
                table, kept = kind.change(table, level, np.random.default_rng(draw))
            return self._measure(stage, table, kept, settings)
        except Exception as error:  # one bad point must not stop the rest
            return StressPoint(reason=format_reason(error))

    def _get_stage(self, n_segments: int) -> Stage:
        if self._stage is None or self._stage[0] != n_segments:
            settings = replace(self.settings, n_segments=n_segments)
            kinds = {wants_lengths(settings.features, voter) for voter in self.plan.voters}
            out = self.out / "run"
            stage = prepare_stage(self.folders, self.readers, out, settings, kinds, self.n_jobs, self.progress)
            self._stage = n_segments, stage
        return self._stage[1]

    def _measure(self, stage: Stage, table: SegmentTable, kept: np.ndarray, settings: Settings) -> StressPoint:
        scores, _, selected = decide_votes(table, count_votes(table, settings).votes, settings)
        # Only bags that still count as *with* get a mask.
        judged = [
            (new, stage.truth[old]) for new, old in enumerate(kept) if old in stage.truth and table.bag_labels[new]
        ]
        slices = [slice(*table.bag_offsets[new : new + 2]) for new, _ in judged]
        overlaps = [truth.measure(selected[part]) for part, (_, truth) in zip(slices, judged, strict=True)]
        ious = measure_ious(np.array(overlaps))
        ranking = rank_segments([scores[part] for part in slices], [truth for _, truth in judged])
        return StressPoint(float((ious > self.threshold).mean()), float(ious.mean()), ranking.segment_ap)
