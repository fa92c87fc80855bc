"""Robustness curves of `compare`: the vote with fewer images, with misfiled images, and with noise in the labels.

The segments and features are those of a comparison; only the table is changed. Draws are seeded by their number, so
that every voter has the same images and labels, and an image that is misfiled at one level is misfiled at every higher
one. Each point is a small file named by a key of its inputs, so that an interrupted measurement continues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from segvote import __version__
from segvote.errors import SegvoteError
from segvote.evaluation.compare import (
    Experiment,
    Stage,
    choose_settings,
    count_votes,
    format_reason,
    prepare_stage,
    share_settings,
)
from segvote.evaluation.evaluate import rank_segments
from segvote.evaluation.segments import measure_ious
from segvote.io.tables import convert_record, read_json, write_json
from segvote.method.table import SegmentTable
from segvote.pipeline.vote import decide_votes
from segvote.run.run_folder import RunFolder, make_key
from segvote.settings import Settings
from segvote.voters import keeps_lengths

N_DRAWS = 3


def draw_bags(table: SegmentTable, level: float, rng: np.random.Generator) -> tuple[SegmentTable, np.ndarray]:
    """Keep `level` bags of each folder; returns the table and the numbers that its bags had."""
    kept = [rng.permutation(np.flatnonzero(table.bag_labels == kind))[: int(level)] for kind in (True, False)]
    bags = np.sort(np.concatenate(kept))
    return take_bags(table, bags), bags


def misfile_bags(table: SegmentTable, level: float, rng: np.random.Generator) -> tuple[SegmentTable, np.ndarray]:
    """Put this share of the *with* bags into the *without* folder."""
    return _swap_labels(table, level, rng, (True,))


def add_label_noise(table: SegmentTable, level: float, rng: np.random.Generator) -> tuple[SegmentTable, np.ndarray]:
    """Put this share of the bags of each folder into the other one."""
    return _swap_labels(table, level, rng, (True, False))


def _swap_labels(
    table: SegmentTable, level: float, rng: np.random.Generator, kinds: Sequence[bool]
) -> tuple[SegmentTable, np.ndarray]:
    """At least one bag of each kind keeps its label."""
    labels = table.bag_labels.copy()
    for kind in kinds:
        members = rng.permutation(np.flatnonzero(table.bag_labels == kind))
        labels[members[: min(round(level * len(members)), len(members) - 1)]] = not kind
    return table.relabel(labels), np.arange(len(labels))


def take_bags(table: SegmentTable, bags: np.ndarray) -> SegmentTable:
    """The table of some bags, ascending, numbered from 0."""
    rows, images = np.isin(table.bags, bags), np.isin(table.image_bags, bags)
    edges = rows[table.edges[:, 0]]
    return SegmentTable(
        **{name: getattr(table, name)[rows] for name in ("X", "areas", "border", "prior", "centres")},
        images=(np.cumsum(images) - 1)[table.images[rows]],
        image_bags=np.searchsorted(bags, table.image_bags[images]),
        positive=table.positive[images],
        edges=(np.cumsum(rows) - 1)[table.edges[edges]],
        lengths=table.lengths[edges],
        contrasts=table.contrasts[edges],
    )


@dataclass(frozen=True)
class Stress:
    """One kind of stress."""

    title: str  # on the page
    levels: tuple[float, ...]
    change: Callable[[SegmentTable, float, np.random.Generator], tuple[SegmentTable, np.ndarray]]
    is_share: bool = True  # whether a level is a share of images; otherwise a number of them

    def list_levels(self, n_bags: int) -> list[float]:
        """The levels that the smaller of two folders of `n_bags` allows."""
        return [level for level in self.levels if self.is_share or level < n_bags]

    def format_level(self, level: float) -> str:
        return f"{100 * level:g} %" if self.is_share else f"{level:g}"


STRESSES = {
    "images": Stress("images of each folder", (5, 10, 20, 50, 100), draw_bags, is_share=False),
    "misfiled": Stress("with images in the without folder", (0.0, 0.05, 0.1, 0.2, 0.3), misfile_bags),
    "labels": Stress("wrong labels in both folders", (0.0, 0.05, 0.1, 0.2, 0.3), add_label_noise),
}


@dataclass(frozen=True)
class StressPoint:
    """One voter at one level: means over the draws; None where there is no result, and then why."""

    kind: str  # of `STRESSES`
    level: float
    voter: str
    corloc: float | None = None
    miou: float | None = None
    ap: float | None = None
    reason: str = ""


def measure_stress(experiment: Experiment, n_draws: int = N_DRAWS) -> list[StressPoint]:
    """Measure voters under every kind of stress, by the common rule.

    Only combinations with the segmenter and the features of the first one take part; segments and features of a
    comparison in the same folder are used again. Where chance decides, the mean of `n_draws` draws is kept.
    """
    settings, first = share_settings(experiment.settings), experiment.combinations[0]
    members = [one for one in experiment.combinations if replace(one, voter=first.voter) == first]
    shared = choose_settings(settings, replace(first, voter=settings.voter), {})
    with RunFolder(experiment.out).lock():
        run = experiment.out / "run"
        stage = prepare_stage(experiment.folders, experiment.readers, run, shared, experiment.resources)
        own = {one.voter: choose_settings(settings, one, experiment.voter_options) for one in members}
        return _measure_voters(experiment, stage, own, n_draws)


def _measure_voters(
    experiment: Experiment, stage: Stage, voters: Mapping[str, Settings], n_draws: int
) -> list[StressPoint]:
    n_bags = int(min(np.bincount(stage.tables[False].bag_labels, minlength=2)))
    wanted = [(name, level) for name, one in STRESSES.items() for level in one.list_levels(n_bags)]
    points: list[StressPoint] = []
    for name, level in wanted:
        for voter, settings in voters.items():
            point, places = StressPoint(name, level, voter), range(n_draws if level else 1)
            points.append(_average([_get_draw(experiment, stage, point, settings, draw) for draw in places]))
            experiment.resources.progress("stress", len(points), len(wanted) * len(voters))
    return points


def _get_draw(experiment: Experiment, stage: Stage, point: StressPoint, settings: Settings, draw: int) -> StressPoint:
    """The stored point of one draw, or a new one, which is stored unless it failed."""
    # Without a change all kinds are the same measurement.
    changed = {"kind": point.kind, "level": point.level, "draw": draw} if point.level else {}
    decided = {"settings": settings.to_dict(), "stage": stage.key, "threshold": experiment.threshold}
    path = experiment.out / "stress" / f"{make_key(version=__version__, **decided, **changed)}.json"
    try:
        stored = convert_record(read_json(path), StressPoint, path)
        return replace(stored, kind=point.kind)
    except SegvoteError:  # there is none, or it is damaged
        pass
    try:
        outcome = _measure_draw(stage, point, settings, draw, experiment.threshold)
    except Exception as error:  # the reason goes into the table
        return replace(point, reason=format_reason(error))
    write_json(path, asdict(outcome), indent=None)
    return outcome


def _measure_draw(stage: Stage, point: StressPoint, settings: Settings, draw: int, threshold: float) -> StressPoint:
    table = stage.tables[keeps_lengths(settings.voter)]
    kept = np.arange(len(table.bag_labels))
    if point.level:
        table, kept = STRESSES[point.kind].change(table, point.level, np.random.default_rng(draw))
    scores, _, selected = decide_votes(table, count_votes(table, settings)[0], settings)
    judged = {
        new: stage.truth[int(old)] for new, old in enumerate(kept) if int(old) in stage.truth and table.bag_labels[new]
    }
    parts = [slice(*table.bag_offsets[new : new + 2]) for new in judged]
    ious = measure_ious([one.measure(selected[part]) for one, part in zip(judged.values(), parts, strict=True)])
    ap = rank_segments([scores[part] for part in parts], list(judged.values())).segment_ap
    return replace(point, corloc=float((ious > threshold).mean()), miou=float(ious.mean()), ap=ap)


def _average(draws: Sequence[StressPoint]) -> StressPoint:
    for one in draws:
        if one.reason:
            return one
    figures = np.array([(one.corloc, one.miou, one.ap) for one in draws], dtype=float)
    corloc, miou, ap = figures.mean(axis=0).tolist()
    return replace(draws[0], corloc=corloc, miou=miou, ap=ap)
