"""The runs of the suite as arrays, for measurements that hold the vote many times on the same features."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from segvote.evaluation.evaluate_segments import MaskedSegments, count_segments, measure_ious
from segvote.evaluation.evaluate_truth import find_truth, list_truth
from segvote.kernels import Neighbours
from segvote.method.graph import N_NEIGHBORS
from segvote.method.second_opinion import Judged, vote_and_judge
from segvote.method.table import Geometry, make_table
from segvote.run.run import Run
from segvote.run.settings import Settings
from segvote.steps.annotate import annotate
from segvote.steps.knn_cache import fetch_neighbours
from segvote.steps.reopening import reopen
from suite import list_sets

__all__ = ["SuiteArrays", "load_suite", "make_parser"]


@dataclass(frozen=True)
class SuiteArrays:
    """Segments of a set as the run of the suite described them.

    Attributes
    ----------
    X, images, positive
        Features (n_segments, d), number of each segment's image, bag labels (n_images,) bool.
    geometry
        Where the segments lie.
    truth
        Of each image what is known of its mask; None for images that show nothing, or of which nothing is known.
    neighbours
        Of the segments; None where images were taken out.
    """

    name: str
    X: np.ndarray
    images: np.ndarray
    positive: np.ndarray
    geometry: Geometry
    truth: tuple[MaskedSegments | None, ...]
    neighbours: Neighbours | None = None

    def vote(self) -> Judged:
        """The vote with the method's defaults, and its confidence."""
        table = make_table(self.X, self.positive, self.images, self.geometry)
        known = self.neighbours or Neighbours.search(self.X, N_NEIGHBORS, self.images)
        return vote_and_judge(table, known.build_graph())

    def measure(self, selected: np.ndarray) -> np.ndarray:
        """Overlap of selected segments (n_segments,) with the truth, of each *with* image whose truth is known."""
        overlaps = [
            one.measure(selected[self.images == image])
            for image, one in enumerate(self.truth)
            if one is not None and self.positive[image]
        ]
        return measure_ious(np.array(overlaps))

    def take(self, chosen: np.ndarray) -> SuiteArrays:
        """The set of some of its images."""
        kept = np.isin(self.images, chosen)
        place = np.full(len(self.positive), -1)
        place[chosen] = np.arange(len(chosen))
        number = np.cumsum(kept) - 1
        edges = kept[self.geometry.edges[:, 0]]
        geometry = Geometry(
            areas=self.geometry.areas[kept],
            border=self.geometry.border[kept],
            edges=number[self.geometry.edges[edges]],
            lengths=self.geometry.lengths[edges],
            contrasts=self.geometry.contrasts[edges],
            centres=self.geometry.centres[kept],
        )
        truth = tuple(self.truth[image] for image in chosen)
        return replace(
            self,
            X=self.X[kept],
            images=place[self.images[kept]],
            positive=self.positive[chosen],
            geometry=geometry,
            truth=truth,
            neighbours=None,
        )

    def join(self, other: SuiteArrays) -> SuiteArrays:
        """The images of both sets, those of the other behind."""
        mine, yours = self.geometry, other.geometry
        geometry = Geometry(
            areas=np.concatenate([mine.areas, yours.areas]),
            border=np.concatenate([mine.border, yours.border]),
            edges=np.concatenate([mine.edges, yours.edges + len(self.X)]),
            lengths=np.concatenate([mine.lengths, yours.lengths]),
            contrasts=np.concatenate([mine.contrasts, yours.contrasts]),
            centres=np.concatenate([mine.centres, yours.centres]),
        )
        return replace(
            self,
            X=np.concatenate([self.X, other.X]),
            images=np.concatenate([self.images, other.images + len(self.positive)]),
            positive=np.concatenate([self.positive, other.positive]),
            geometry=geometry,
            truth=self.truth + other.truth,
            neighbours=None,
        )


def make_parser(description: str | None, sets: str = "") -> argparse.ArgumentParser:
    """The arguments that say which sets are measured."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", default=sets, help="names, separated by commas")
    parser.add_argument("--out", type=Path, default=Path("build/suite"))
    return parser


def load_suite(given: argparse.Namespace) -> list[SuiteArrays]:
    """The sets that were asked for; what is not annotated yet is."""
    names = [name for name in given.sets.split(",") if name]
    return [load_set(one, given.out) for one in list_sets(given.data, names)]


def load_set(folder: Path, out: Path) -> SuiteArrays:
    run = annotate(folder / "with", folder / "without", out / folder.name, Settings())
    opened = reopen(run)
    table, settings = opened.table, run.settings
    return SuiteArrays(
        name=folder.name,
        X=np.asarray(table.X),
        images=table.bags,
        positive=table.bag_labels,
        geometry=Geometry(**{field.name: getattr(table, field.name) for field in fields(Geometry)}),
        truth=tuple(_count_truth(run, folder)),
        neighbours=fetch_neighbours(run.folder, opened.bags, table, settings),
    )


def _count_truth(run: Run, folder: Path) -> list[MaskedSegments | None]:
    readers, found = list_truth(folder / "masks"), []
    for index, bag in enumerate(run.bags):
        reader = find_truth(readers, bag.name) if bag.bag_label == "with" else None
        labels = run.read_segments(index)["labels"] if reader else None
        found.append(count_segments(labels, reader(), (bag.height, bag.width)) if reader else None)
    return found
