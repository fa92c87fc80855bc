"""What competitors share, one vote among them, and four ways from its scores to masks.

Segments, features and the truth of every segment are the same for all voters. A voter is never judged by a rule that
another one chose. ``common``: smoothing over adjacent segments, then the decision rule of the settings, the same for
all. ``own``: the voter's own threshold, one segment per image for negative mining, the largest connected component
above the image's mean for aggregation maps. ``printed``: the same after the second voting as the paper prints it, over
all adjacent segments alike. ``matched``: as many segments in all as eKDE selected by the common rule, which is how the
paper sets CRANE's threshold. A finished voter has no threshold of its own.
"""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from segvote.errors import BadInputError, SegvoteError
from segvote.evaluation.compare_results import cut_ending
from segvote.evaluation.evaluate import count_image, find_run_truth
from segvote.evaluation.evaluate_segments import CountedTruth, count_video
from segvote.evaluation.evaluate_truth import TruthReader, find_truth
from segvote.io.arrays import read_arrays
from segvote.io.images import hash_file, read_image
from segvote.method.table import SegmentTable, smooth_along, weigh_adjacent
from segvote.progress import Progress, ignore_progress
from segvote.run.bags import Bag, list_bags
from segvote.run.run import Run
from segvote.run.settings import Settings
from segvote.steps.annotate import annotate_folders
from segvote.steps.looks import SCALABLE
from segvote.steps.reopening import Opened, reopen
from segvote.steps.vote import decide_votes, hold_vote
from segvote.steps.workers import Resources
from segvote.types import WITH

RULES = ("common", "own", "printed", "matched")
# Their papers take the best segment of each image.
BEST_SEGMENT = frozenset({"negmin"})
# Their paper keeps the largest connected component above the mean of the image.
LARGEST_COMPONENT = frozenset({"scda"})
# Their threshold in the paper follows eKDE's count.
COUNT_MATCHED = frozenset({"crane"})


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
    run = annotate_folders(*folders, out, settings, Resources(n_jobs, progress=progress), label_maps)
    _check_left_out(run)
    truth = _count_truth(run, readers)
    opened = reopen(run)
    tables = {kind: scale_table(run, opened, kind) for kind in sorted(set(kinds))}
    return Stage(run, tables, truth, int(run.votes["decisions"].sum()))


def _check_left_out(run: Run) -> None:
    """Refuse a run without an image that can be read now: results are kept under the digests of all of them."""
    used = {bag.name for bag in run.bags}
    for path in (run.inputs.find_source(one.name) for one in run.record.problems if one.name not in used):
        if _is_readable(path):
            raise BadInputError(f"{path} could not be read for a moment; repeat the command")


def _is_readable(path: Path) -> bool:
    try:
        read_image(path)
    except SegvoteError:
        return False
    return True


def _count_truth(run: Run, readers: Mapping[str, TruthReader]) -> dict[int, CountedTruth]:
    """Bag number to the truth of its segments, of images and of videos."""
    videos, images = find_run_truth(run, readers, "the truth")
    truth = {index: count_video(run, index, frames) for index, frames in videos.items()}
    for index, read in images.items():
        if not run.bags[index].n_frames:
            truth[index] = count_image(run, index, read())
    return dict(sorted(truth.items()))


def scale_table(run: Run, opened: Opened, has_lengths: bool) -> SegmentTable:
    """The table with standardised features, their blocks of length one or as long as they are."""
    table = opened.table
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
    for bag in list_bags(*folders, settings):
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


def count_votes(table: SegmentTable, settings: Settings) -> tuple[np.ndarray, float, list[str]]:
    """Let the segments vote: the voter's own scores (n_segments,), processor seconds, what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        started = time.process_time()
        held = hold_vote(table, settings)
        seconds = time.process_time() - started
    notes = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    votes = np.asarray(held.vote.votes, dtype=np.float64)
    if not np.isfinite(votes).all():
        raise SegvoteError(f"{settings.voter} gave scores that are not finite numbers; report this")
    return votes, seconds, list(dict.fromkeys(notes))


def decide_by_rules(
    table: SegmentTable, votes: np.ndarray, settings: Settings, n_matched: int
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Decide by all rules: scores (n_segments,) and thresholds (n_bags,) of the common rule, and each rule's selection.

    The common rule is that of the settings on the votes (n_segments,) of one voter; ``matched`` selects `n_matched`
    segments.
    """
    scores, thresholds, common = decide_votes(table, votes, settings)
    twice = vote_twice(table, votes, settings.smoothing)
    decisions = {
        "common": common,
        "own": common if settings.finish else _select_own(table, votes, settings.voter, n_matched),
        "printed": common if settings.finish else _select_own(table, twice, settings.voter, n_matched),
        "matched": _select_count(table, votes, n_matched),
    }
    return scores, thresholds, decisions


def vote_twice(table: SegmentTable, votes: np.ndarray, share: float) -> np.ndarray:
    """The second voting as printed: (1 - l) f_i + l times the mean of f over all adjacent segments; l is `share`.

    A segment without neighbours keeps its score.
    """
    n_edges = len(table.edges)
    mean = weigh_adjacent(len(votes), table.edges, np.ones(n_edges), np.full(n_edges, np.nan))
    return smooth_along(mean, votes, share)


def _select_own(table: SegmentTable, votes: np.ndarray, voter: str, n_matched: int) -> np.ndarray:
    """By the threshold that the voter's own paper gives."""
    if voter in COUNT_MATCHED:
        return _select_count(table, votes, n_matched)
    if voter in LARGEST_COMPONENT:
        return _select_component(table, votes)
    return _select_best(table, votes) if voter in BEST_SEGMENT else (votes > 0) & table.is_candidate


def _select_component(table: SegmentTable, votes: np.ndarray) -> np.ndarray:
    """Of the segments above their image's mean (weighted by area), the connected component of largest area."""
    selected = np.zeros(len(votes), dtype=bool)
    bags = table.bags[table.edges[:, 0]]
    for index in np.flatnonzero(table.bag_labels):
        part = slice(*table.bag_offsets[index : index + 2])
        edges = table.edges[bags == index] - part.start
        above = votes[part] > np.average(votes[part], weights=table.areas[part])
        kept = edges[above[edges].all(axis=1)] if len(edges) else edges
        graph = sparse.coo_array((np.ones(len(kept)), kept.T), shape=(len(above), len(above)))
        numbers = connected_components(graph, directed=False)[1]
        sizes = np.bincount(numbers, weights=np.where(above, table.areas[part], 0.0))
        selected[part] = above & (numbers == sizes.argmax())
    return selected


def _select_best(table: SegmentTable, votes: np.ndarray) -> np.ndarray:
    selected = np.zeros(len(votes), dtype=bool)
    for index in np.flatnonzero(table.bag_labels):
        start, stop = table.bag_offsets[index : index + 2]
        selected[start + np.argmax(votes[start:stop])] = True
    return selected


def _select_count(table: SegmentTable, votes: np.ndarray, n_selected: int) -> np.ndarray:
    """As many segments of *with* bags, more where scores tie: the paper's rule for CRANE."""
    shown = table.is_candidate
    if n_selected <= 0:
        return np.zeros(len(votes), dtype=bool)
    ranked = np.sort(votes[shown])[::-1]
    return (votes >= ranked[min(n_selected, len(ranked)) - 1]) & shown
