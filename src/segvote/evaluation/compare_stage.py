"""What competitors share: segments, features, the truth of every segment, the number the reference selected."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from segvote.errors import BadInputError
from segvote.evaluation.compare_results import cut_ending
from segvote.evaluation.evaluate import count_image, find_run_truth
from segvote.evaluation.evaluate_segments import CountedTruth
from segvote.evaluation.evaluate_truth import TruthReader, find_truth
from segvote.evaluation.evaluate_videos import count_video
from segvote.io.arrays import read_arrays
from segvote.io.images import hash_file
from segvote.method.table import SegmentTable
from segvote.progress import Progress, ignore_progress
from segvote.run.bags import Bag, list_bags
from segvote.run.run import Run
from segvote.run.settings import Settings
from segvote.steps.annotate import annotate
from segvote.steps.looks import SCALABLE
from segvote.steps.reopening import Reopened, reopen
from segvote.types import WITH


@dataclass(frozen=True)
class Stage:
    """Segments and features on which voters compete."""

    run: Run  # the main job's
    tables: dict[bool, SegmentTable]  # its segments, by whether their features keep their lengths
    truth: dict[int, CountedTruth]  # bag number to the truth of its segments
    n_matched: int  # how many segments the reference selected


def measure_segments(settings: Settings) -> Settings:
    """The same settings for a comparison: masks of whole segments, and one detail for all voters.

    ``auto`` would let the confidence of the reference choose the features of all others.
    """
    return replace(settings, draw="segments", detail="coarse" if settings.detail == "auto" else settings.detail)


def choose_detail(settings: Settings) -> Settings:
    """The settings with a detail that their features have: only the network of `SCALABLE` takes inputs of any size."""
    return settings if cut_ending(settings.features) == SCALABLE else replace(settings, detail="coarse")


def prepare_stage(
    folders: tuple[Path, Path],
    readers: Mapping[str, TruthReader],
    out: Path,
    settings: Settings,
    kinds: Iterable[bool],
    n_jobs: int,
    progress: Progress = ignore_progress,
    label_maps: Path | None = None,
) -> Stage:
    """Segment, extract features and let the reference vote; count the truth of every segment.

    `kinds` says which tables are wanted: with lengths kept, with blocks of length one, or both.
    """
    settings = replace(settings, features=cut_ending(settings.features))
    run = annotate(*folders, out, settings, segments=label_maps, n_jobs=n_jobs, progress=progress)
    truth = _count_truth(run, readers)
    opened = reopen(run)
    tables = {kind: scale_table(opened, kind) for kind in sorted(set(kinds))}
    return Stage(run, tables, truth, int(run.votes["decisions"].sum()))


def _count_truth(run: Run, readers: Mapping[str, TruthReader]) -> dict[int, CountedTruth]:
    """Bag number to the truth of its segments, of images and of videos."""
    videos, images = find_run_truth(run, readers, "the truth")
    truth = {index: count_video(run, index, frames) for index, frames in videos.items()}
    for index, read in images.items():
        if not run.bags[index].n_frames:
            truth[index] = count_image(run, index, read())
    return dict(sorted(truth.items()))


def scale_table(opened: Reopened, has_lengths: bool) -> SegmentTable:
    """The table with standardised features, their blocks of length one or as long as they are."""
    run, table = opened.run, opened.table
    if opened.standardiser.has_lengths == has_lengths:
        return table
    standardiser = replace(opened.standardiser, has_lengths=has_lengths)
    X = np.empty_like(table.X)
    for index, bag in enumerate(run.bags):
        X[run.get_slice(index)] = standardiser.apply(read_arrays(run.folder.features_path(bag.features))["features"])
    return replace(table, X=X)


def hash_inputs(
    folders: tuple[Path, Path],
    readers: Mapping[str, TruthReader],
    settings: Settings,
    label_maps: Path | None = None,
) -> str:
    """SHA-256 of all images, of all truth that belongs to them, and of the label maps where there are some."""
    digest = hashlib.sha256()
    found = False
    for path in [] if label_maps is None else sorted(label_maps.rglob("*.*")):
        digest.update(f"{path}\0{hash_file(path)}\0".encode(errors="replace"))
    for bag in list_bags(*folders, settings.frames, settings.reading):
        digest.update(f"{bag.name}\0{bag.digest}\0".encode(errors="surrogateescape"))
        for reader in _find_readers(readers, bag) if bag.bag_label == WITH else ():
            truth, found = reader(), True
            for array in (truth.mask, truth.boxes):
                digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    if not found:
        raise BadInputError("no truth is named like a *with* image; expected the image's name with any extension")
    return digest.hexdigest()


def _find_readers(readers: Mapping[str, TruthReader], bag: Bag) -> list[TruthReader]:
    """Of an image one or none; of a video those of its frames."""
    if not bag.is_video:
        reader = find_truth(readers, bag.name)
        return [reader] if reader else []
    start = bag.name.split("/", 1)[1] + "/" if bag.path.is_dir() else bag.name.split("/", 1)[1].rsplit(".", 1)[0] + "/"
    return [readers[name] for name in sorted(readers) if name.removeprefix(f"{WITH}/").startswith(start)]
