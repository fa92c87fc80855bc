"""What `ablation.py` switches off, and what it measures: votes on shared neighbours, masks drawn as `annotate` does.

Segments, features and superpixels come from one run folder; a search for neighbours serves all rows with the same maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from segvote.steps.voting_step import Verdict, decide_bags, measure_survival, refine_vote

from segvote.evaluation.compare_stage import Stage
from segvote.evaluation.evaluate import find_bag_truth, rank_segments
from segvote.evaluation.evaluate_segments import measure_ious
from segvote.io.arrays import read_arrays, write_arrays
from segvote.io.images import read_image
from segvote.kernels import build_vote_graph, search_neighbours
from segvote.masks import scale_heat
from segvote.masks.drawing import draw_mask_along
from segvote.metrics.overlap import measure_corloc, measure_iou
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings
from segvote.steps.superpixels import fetch_superpixels
from segvote.steps.table import Table
from segvote.steps.workers import run_on_all
from segvote.voters.ekde import EKDE

MOST_NEIGHBOURS = 80  # that any row hears
N_THRESHOLDS = 80  # tried for the best single one
FIGURES = ("ap", "corloc", "miou", "whole", "best", "limit")


@dataclass(frozen=True)
class Row:
    """One ingredient changed.

    Attributes
    ----------
    name
        In the table.
    change
        Fields of `Settings`.
    maps
        Numbers of the feature maps that are heard; empty: all.
    """

    name: str
    change: dict[str, Any] = field(default_factory=dict)
    maps: tuple[int, ...] = ()

    @property
    def is_cheap(self) -> bool:
        """Whether neither another search for neighbours nor other segments are needed."""
        return not self.maps and "n_segments" not in self.change

    def apply(self, settings: Settings) -> Settings:
        return replace(settings, **self.change)


ROWS = (
    Row("as it is"),
    Row("10 neighbours", {"voter_options": {"n_neighbors": 10}}),
    Row("80 neighbours", {"voter_options": {"n_neighbors": 80}}),
    Row("1 step", {"voter_options": {"n_steps": 1}}),
    Row("10 steps", {"voter_options": {"n_steps": 10}}),
    Row("no background prior", {"border_prior": 1.0}),
    Row("likely mislabelled kept", {"exclude_mislabelled": False}),
    Row("no re-vote", {"revote": False}),
    Row("no second voting", {"second_vote": 0.0}),
    Row("decision: otsu", {"decision": "otsu"}),
    Row("decision: global-otsu", {"decision": "global-otsu"}),
    Row("decision: half-maximum", {"decision": "half-maximum"}),
    Row("decision: best-segment", {"decision": "best-segment"}),
    Row("no redrawing", {"n_superpixels": 0}),
    Row("finest map only", maps=(0,)),
    Row("middle map only", maps=(1,)),
    Row("coarsest map only", maps=(2,)),
    Row("100 segments", {"n_segments": 100}),
    Row("400 segments", {"n_segments": 400}),
)


class SharedEKDE(EKDE):
    """The default voter on neighbours that were searched before."""

    def __init__(self, neighbours: dict[str, np.ndarray], n_neighbors: int = 40, n_steps: int = 60) -> None:
        super().__init__(n_neighbors, n_steps)
        self.neighbours = neighbours

    def _search(self, segments: Any) -> tuple[Any, float]:
        kept = slice(self.n_neighbors)
        squared, indices = self.neighbours["squared"][:, kept], self.neighbours["indices"][:, kept]
        return build_vote_graph(squared, indices.astype(np.int64), len(segments)), 1.0


def select_maps(table: Table, maps: tuple[int, ...]) -> Table:
    """The table with some blocks of the features only; each block has length one, so that nothing has to be scaled."""
    if not maps:
        return table
    ends = np.cumsum((0, *table.standardiser.blocks))
    columns = np.concatenate([np.arange(ends[number], ends[number + 1]) for number in maps])
    return replace(table, X=np.ascontiguousarray(table.X[:, columns]))


def get_neighbours(table: Table, path: Path) -> dict[str, np.ndarray]:
    """The nearest segments of other bags, from a file if there is one."""
    if not path.is_file():
        squared, indices = search_neighbours(table.X, table.X, MOST_NEIGHBOURS, table.bags, table.bags)
        write_arrays(path, squared=squared, indices=indices.astype(np.int32))
    return read_arrays(path)


def count_votes(table: Table, settings: Settings, neighbours: dict[str, np.ndarray] | None) -> np.ndarray:
    """(n_segments,) scores of the default voter."""
    options = settings.voter_options
    voter = EKDE(**options) if neighbours is None else SharedEKDE(neighbours, **options)
    survival = measure_survival(table, settings)
    voter.fit(table.X, table.tags[table.bags], bags=table.bags, survival=survival)
    return refine_vote(voter, table, settings).scores_


@dataclass(frozen=True)
class Drawing:
    """All that one mask and its overlap are made of."""

    run: RunFolder
    segments: str
    image: Path
    n_superpixels: int
    heat: np.ndarray
    decisions: np.ndarray
    truth: np.ndarray


def measure_drawing(task: Drawing) -> float:
    """Overlap of a mask, drawn as `annotate` does, with its truth."""
    labels = read_arrays(task.run.segments_path(task.segments))["labels"]
    free = np.full(len(task.decisions), -1, dtype=np.int8)
    cut = fetch_superpixels(
        task.run,
        task.segments,
        task.n_superpixels,
        labels,
        lambda: read_image(task.image),
    )
    mask = draw_mask_along(cut, labels, task.heat, task.decisions, free, task.truth.shape)  # type: ignore[arg-type]
    return measure_iou(mask, task.truth)


@dataclass(frozen=True)
class Case:
    """A set, segmented: the stage of a comparison, and the masks that are known."""

    stage: Stage
    masks: dict[int, np.ndarray]

    @classmethod
    def open(cls, stage: Stage, readers: Any) -> Case:
        found = find_bag_truth(stage.run, readers, "the truth")
        masks = {index: read().mask for index, read in found.items()}
        return cls(stage, {index: mask for index, mask in masks.items() if mask is not None})

    def measure(self, table: Table, kept: np.ndarray, settings: Settings, votes: np.ndarray, n_jobs: int) -> dict:
        """Figures of a vote on some of the bags; `kept` are the numbers they had."""
        verdict = decide_bags(table, SimpleNamespace(scores_=votes, weights_=votes), settings)
        judged = [(new, int(old)) for new, old in enumerate(kept) if old in self.masks and table.tags[new]]
        scores, decisions = table.split(verdict.scores), table.split(verdict.decisions)
        truth = [self.stage.truth[old] for _, old in judged]
        mine, chosen = [scores[new] for new, _ in judged], [decisions[new] for new, _ in judged]
        whole = measure_ious(np.array([one.measure(some) for one, some in zip(truth, chosen, strict=True)]))
        drawn = self._draw(verdict, judged, mine, chosen, settings, n_jobs) if settings.n_superpixels else whole
        return {
            "ap": rank_segments(mine, truth).segment_ap,
            "corloc": measure_corloc(drawn),
            "miou": float(drawn.mean()),
            "whole": float(whole.mean()),
            "best": find_best_single(mine, truth),
            "limit": float(measure_ious(np.array([one.measure_limit() for one in truth])).mean()),
            "shift": verdict.shift,
        }

    def _draw(
        self,
        verdict: Verdict,
        judged: Sequence[tuple[int, int]],
        scores: Sequence[np.ndarray],
        decisions: Sequence[np.ndarray],
        settings: Settings,
        n_jobs: int,
    ) -> np.ndarray:
        run: Run = self.stage.run
        low = float(verdict.scores.min())
        tasks = []
        for (new, old), mine, selected in zip(judged, scores, decisions, strict=True):
            heat = scale_heat(mine, float(verdict.thresholds[new]), low, float(mine.max())).astype(np.float32)
            record, image = run.bags[old], run.find_image(old)
            mask = self.masks[old]
            tasks.append(Drawing(run.folder, record.segments, image, settings.n_superpixels, heat, selected, mask))
        return np.array(list(run_on_all(measure_drawing, tasks, n_jobs)))


def find_best_single(scores: Sequence[np.ndarray], truth: Sequence[Any]) -> float:
    """Mean overlap, of whole segments, at the best of many thresholds: chosen with the masks, so nobody can have it."""
    best = 0.0
    for threshold in np.quantile(np.concatenate(scores), np.linspace(0.4, 0.995, N_THRESHOLDS)):
        selected = [np.where(one > threshold, True, one >= one.max()) for one in scores]
        ious = measure_ious(np.array([known.measure(some) for known, some in zip(truth, selected, strict=True)]))
        best = max(best, float(ious.mean()))
    return best
