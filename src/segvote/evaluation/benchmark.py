"""The paper's experiments on a public data set: one comparison per class, then the mean over classes.

The images of a class are linked into two folders. Of a video a few frames are used, those with truth first; each votes
as an image, and a video is judged over all its frames at once, by the paper's threshold for videos.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from segvote.datasets import DATASETS
from segvote.datasets.base import DataItem, DataSet, take_evenly
from segvote.datasets.paper_table import PAPER_METHODS, find_paper_corloc, measure_resolution
from segvote.errors import BadInputError, MissingPartError, UnknownNameError
from segvote.evaluation.compare import Experiment, VoterOptions, compare_combinations, list_combinations
from segvote.evaluation.comparison import Combination, Comparison
from segvote.evaluation.defaults import MAX_ITEMS, N_FRAMES
from segvote.evaluation.truth import Truth, TruthReader
from segvote.features import make_features
from segvote.metrics.overlap import IMAGE_THRESHOLD, VIDEO_THRESHOLD
from segvote.pipeline.workers import Resources
from segvote.progress import Progress
from segvote.settings import COARSE, Settings
from segvote.types import WITH, WITHOUT
from segvote.voters import METHOD

# Ours beside the paper's methods.
OURS = {"method, deep (ours)": (METHOD, "lite0"), "method (ours)": (METHOD, "bow")}
# Segmenter and size of `--as-paper`.
PAPER_SETTINGS = Settings(segmenter="gpb", size=224, detail=COARSE)
PAPER_NETWORKS = ("vgg19", "vgg16")  # the paper's, and the nearest to it whose weights are in a registry


def list_rows(network: str = "lite0") -> dict[str, tuple[str, str]]:
    """Voter and features of the paper's methods, with the features of its deep row, and of ours."""
    deep = {name: (voter, network) for name, (voter, features) in PAPER_METHODS.items() if features == "lite0"}
    return {**PAPER_METHODS, **deep, **OURS}


def list_row_combinations(rows: Mapping[str, tuple[str, str]], segmenter: str) -> list[Combination]:
    """The combinations of some rows; those that share features are neighbours."""
    return sorted({Combination(segmenter, features, voter) for voter, features in rows.values()})


def choose_recipe(
    voters: Sequence[str] | None, features: Sequence[str], as_paper: bool, segmenter: str | None, n_segments: int
) -> tuple[dict[str, tuple[str, str]], list[Combination], Settings]:
    """Rows, combinations and settings of a benchmark; without voters, the combinations of the rows."""
    settings = replace(PAPER_SETTINGS if as_paper else Settings(), n_segments=n_segments)
    settings = replace(settings, segmenter=segmenter or settings.segmenter)
    rows = list_rows(choose_network()) if as_paper else list_rows()
    if voters is None:
        return rows, list_row_combinations(rows, settings.segmenter), settings
    return rows, list_combinations(voters, features, [settings.segmenter]), settings


def choose_network() -> str:
    """The first of `PAPER_NETWORKS` whose weights are here; the paper's own where there are none."""
    for name in PAPER_NETWORKS:
        with contextlib.suppress(MissingPartError):
            make_features(name)
            return name
    return PAPER_NETWORKS[0]


@dataclass(frozen=True)
class ClassFolders:
    """The images of a class as two folders of links."""

    folders: tuple[Path, Path]  # the *with* and the *without* folder
    readers: dict[str, TruthReader]  # name of a *with* link, without extension, to its truth
    groups: dict[str, str]  # name of a *with* bag to the image or video it belongs to
    n_items: int  # images or videos with truth
    is_video: bool


@dataclass(frozen=True)
class Benchmark:
    """Results on a data set."""

    name: str  # of the data set
    classes: dict[str, Comparison]  # class to its comparison, whose "images" are videos where the set has videos
    n_items: dict[str, int]  # class to its number of videos or images with truth
    rows: Mapping[str, tuple[str, str]] = field(default_factory=list_rows)  # method to its voter and features
    # Class to its comparison image by image, and its folders: for pictures.
    pictures: Mapping[str, tuple[Comparison, ClassFolders]] = field(default_factory=dict)

    @property
    def resolution(self) -> float:
        """Weight of one shot in the mean over classes."""
        return measure_resolution(self.n_items)

    def measure(self, method: str, rule: str) -> np.ndarray:
        """(n_classes,) CorLoc of a method of `rows`; nan where there is no result."""
        results = [(one, one.find(*self.rows[method])) for one in self.classes.values()]
        return np.array(
            [np.nan if result is None else one.measure_corloc(result, rule).mean for one, result in results]
        )

    def find_paper(self, method: str) -> np.ndarray:
        """(n_classes,) the paper's CorLoc; nan where it has none."""
        figures = [find_paper_corloc(self.name, name, method) for name in self.classes]
        return np.array([np.nan if figure is None else figure for figure in figures])

    def list_notes(self) -> list[str]:
        """Warnings and failures of the methods of `rows`, class by class."""
        return [
            f"{method}: {name}: {note}"
            for method, row in self.rows.items()
            for name, comparison in self.classes.items()
            for one in comparison.results
            if (one.combination.voter, one.combination.features) == row
            for note in (*one.notes, one.reason)
            if note
        ]


def benchmark_classes(
    name: str,
    path: Path | str,
    out: Path | str,
    combinations: Sequence[Combination],
    settings: Settings | None = None,
    *,
    rows: Mapping[str, tuple[str, str]] | None = None,
    class_name: str | None = None,
    n_frames: int = N_FRAMES,
    max_items: int = MAX_ITEMS,
    voter_options: VoterOptions | None = None,
    resources: Resources = Resources(),
) -> Benchmark:
    """Run the experiments of a data set of `DATASETS` that lies on disk; finished results in `out` are kept.

    Of each video `n_frames` are used; of each kind and class at most `max_items` images or videos; of one class, or
    (None) of all. `rows` are the methods beside the paper's figures, those of `list_rows` by default.
    """
    data = DATASETS[name](path, class_name)
    classes, n_items, pictures = {}, {}, {}
    for wanted in data.classes:
        folder = Path(out) / wanted
        class_folders = link_class(data, wanted, Path(out) / "images" / wanted, n_frames, max_items)
        if class_folders.n_items == 0:
            continue  # it still serves the other classes as *without*
        experiment = Experiment(
            class_folders.folders,
            class_folders.readers,
            folder,
            combinations,
            settings or Settings(),
            voter_options or {},
            threshold=VIDEO_THRESHOLD if class_folders.is_video else IMAGE_THRESHOLD,
            resources=replace(resources, progress=partial(report_class, resources.progress, wanted)),
        )
        comparison = compare_combinations(experiment)
        grouped = [one.group(class_folders.groups) if one.is_good else one for one in comparison.results]
        classes[wanted], n_items[wanted] = replace(comparison, results=grouped), class_folders.n_items
        pictures[wanted] = comparison, class_folders
    if not classes:
        raise UnknownNameError(f"no class of {name} at {path} has truth; check that its annotations are unpacked")
    return Benchmark(name, classes, n_items, rows or list_rows(), pictures)


def report_class(progress: Progress, class_name: str, step: str, done: int, total: int) -> None:
    """Report a step of one class."""
    progress(f"{class_name}: {step}", done, total)


def link_class(data: DataSet, class_name: str, folder: Path, n_frames: int, max_items: int) -> ClassFolders:
    """Link the images of a class into ``with`` and ``without`` below a folder, which are emptied first.

    Of each video `n_frames` are used. At most `max_items` items of each kind are taken, evenly spread over the list.
    """
    shown, absent = (take_evenly(data.select(class_name, label), max_items) for label in (WITH, WITHOUT))
    if not absent:
        raise BadInputError(f"{data.name}: nothing on disk is without {class_name}; add images of other objects")
    readers: dict[str, TruthReader] = {}
    groups: dict[str, str] = {}
    for label, items in ((WITH, shown), (WITHOUT, absent)):
        shutil.rmtree(folder / label, ignore_errors=True)
        try:
            (folder / label).mkdir(parents=True)
        except OSError as error:
            raise BadInputError(f"cannot write to {folder} ({error.strerror}); choose another -o folder") from error
        for place, item in enumerate(items):
            for number in choose_frames(item, n_frames):
                link = folder / label / f"{place:05d}-{number:05d}{item.frames[number].suffix.lower()}"
                _link(item.frames[number], link)
                groups[f"{label}/{link.name}"] = item.name
                if label == WITH and (number in item.masks or number in item.boxes):
                    readers[link.stem] = partial(_read_truth, item, number)
    n_items, is_video = sum(item.has_truth for item in shown), any(item.is_video for item in shown)
    return ClassFolders((folder / WITH, folder / WITHOUT), readers, groups, n_items, is_video)


def choose_frames(item: DataItem, n_frames: int) -> list[int]:
    """Numbers of the frames to use: those with truth, evenly spread, then others until there are enough."""
    known = sorted({*item.masks, *item.boxes})
    others = [number for number in range(len(item.frames)) if number not in known]
    chosen = take_evenly(known, n_frames)
    return sorted([*chosen, *take_evenly(others, n_frames - len(chosen))])


def _link(path: Path, link: Path) -> None:
    try:
        os.symlink(path.resolve(), link)
    except OSError:  # Windows without the right to make links
        shutil.copyfile(path, link)


def _read_truth(item: DataItem, number: int) -> Truth:
    return Truth(mask=item.masks[number]()) if number in item.masks else Truth(boxes=item.boxes[number]())
