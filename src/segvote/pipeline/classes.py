"""Several classes in one call: one folder per class in, one index mask per image out.

The images of other classes are the negatives of each. Images are segmented once, and neighbours are searched once: a
class costs one vote. ``classes/NAME`` is a run folder like any other.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from PIL import Image

from segvote import __version__
from segvote.errors import BadInputError
from segvote.features import Standardiser
from segvote.inputs.bags import Bag, Problem
from segvote.inputs.classes import ClassFolders, ClassImage, list_class_images
from segvote.inputs.label_maps import check_label_maps
from segvote.io.exports.base import ExportOptions
from segvote.io.exports.coco import write_coco_file
from segvote.io.exports.index_pictures import make_voc_palette
from segvote.io.files import atomic_path, write_bytes
from segvote.io.images import resize_labels
from segvote.io.masks import encode_png
from segvote.io.own_folders import refuse_inside
from segvote.io.stores import name_path_or_uri
from segvote.io.tables import convert_record, read_json, write_json
from segvote.method.table import SegmentTable
from segvote.pipeline.adopt import prepare_corrections
from segvote.pipeline.corrected_vote import RunVote, apply_corrections
from segvote.pipeline.looks import list_looks
from segvote.pipeline.objects import divide_parts
from segvote.pipeline.opening import open_folder
from segvote.pipeline.prepare import check_names, check_strict, extract_bags, keep_readable, list_problems
from segvote.pipeline.sample import parse_vote_on
from segvote.pipeline.strokes import Canvas
from segvote.pipeline.table import gather_table
from segvote.pipeline.vote import BaseVote, hold_vote
from segvote.pipeline.workers import Resources
from segvote.pipeline.write_run import is_done, write_run
from segvote.progress import count_along
from segvote.run.classes import ClassRuns, list_joined
from segvote.run.corrections import Corrections, make_result_key, read_corrections
from segvote.run.output_names import name_bags, name_frames, remove_stale
from segvote.run.record import ClassesRecord, ClassRecord, Inputs, list_versions, make_record, name_near
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder, make_key
from segvote.run.videos import get_poster_path
from segvote.settings import Settings
from segvote.types import WITH, WITHOUT, Annotation


def annotate_class_folders(
    root: Path | str,
    out: Path | str,
    settings: Settings,
    resources: Resources = Resources(),
    segments: Path | str | None = None,
    strict: bool = False,
) -> ClassRuns:
    """Find several objects at once; see `segvote.annotate_classes`."""
    if settings.adapt:  # the classes share their features
        raise BadInputError("expected two folders with --adapt, got --classes; annotate each class on its own")
    settings = list_looks(settings)[0]  # one look: a closer look may suit one class and not another
    folder, root = RunFolder(out), Path(root)
    job = _Job(folder, root, settings, resources)
    refuse_inside(out, [root])
    texts = "holds no run on classes", "belongs to a run on other classes"
    folder.check_input(folder.classes_path, root, *texts)
    folders = list_class_images(root, settings)
    with folder.lock():
        folder.check_input(folder.classes_path, root, *texts)  # another process may have written to it meanwhile
        if not folder.classes_path.exists():
            _write_record(folder, name_path_or_uri(root), complete=False)
        job.carry_out(folders, check_label_maps(segments), strict)
    return ClassRuns(folder.path)


class _Job:
    """One call of `annotate_class_folders`."""

    def __init__(self, folder: RunFolder, root: Path, settings: Settings, resources: Resources) -> None:
        self.folder, self.root, self.settings, self.resources = folder, root, settings, resources
        self.extractor = check_names(settings)
        if parse_vote_on(settings.vote_on):
            raise BadInputError(f"expected --vote-on with two folders, got {settings.vote_on} with --classes")
        self.images: list[ClassImage] = []  # that could be read, with their segments
        self._base: BaseVote | None = None

    def carry_out(self, folders: ClassFolders, label_maps: Path | None, strict: bool) -> None:
        # *With* images of any class get masks: their superpixels are computed along with the segments.
        bags = [replace(image.bag, bag_label=WITH if image.names else WITHOUT) for image in folders.images]
        segmented = extract_bags(self.folder, bags, self.settings, self.extractor, self.resources, label_maps)
        check_strict(segmented, strict)
        both = zip(folders.images, segmented, strict=True)
        self.images = [replace(image, bag=bag) for image, bag in both if not bag.problem]
        problems = list_problems(segmented)
        keys = {name: self._annotate(name, problems) for name in folders.names}
        self._join(folders.names, make_key(version=__version__, classes=keys), problems + folders.problems)

    @cached_property
    def _table(self) -> tuple[SegmentTable, Standardiser]:
        """The segments of all images, labelled for some class, and the scale of their features."""
        return gather_table(self.folder, [image.bag for image in self.images], self.extractor, self.settings)

    def _annotate(self, name: str, problems: Sequence[Problem]) -> str:
        """The run of one class; returns the key of its result."""
        run, settings = RunFolder(self.folder.path / "classes" / name), replace(self.settings, label=name)
        inputs = Inputs(name_path_or_uri(self.root / name), name_path_or_uri(self.root))
        with run.lock():
            own = [image.make_bag(name) for image in self.images]
            bags, corrections = prepare_corrections(run, own, settings, partial(self._share_parts, run))
            good = keep_readable(bags, strict=False)
            key = make_result_key(settings, good, corrections)
            if not is_done(run, key):
                run.write_record(make_record(inputs, settings, key))
                self._share_parts(run, good)
                write_run(self._vote(run, settings, good, corrections), inputs, problems, self.resources)
        return key

    def _share_parts(self, run: RunFolder, bags: Sequence[Bag]) -> Sequence[Bag]:
        share_parts(self.folder, run, bags)
        return bags

    def _vote(self, run: RunFolder, settings: Settings, bags: list[Bag], corrections: Corrections) -> RunVote:
        table, standardiser = self._table
        table = table.relabel(np.array([one.bag_label == WITH for one in bags]))
        inputs = open_folder(run, settings, self.extractor, bags, corrections, (table, standardiser))
        self.resources.progress(f"vote on {settings.label}", 0, 1)
        # The neighbours of a segment do not depend on the class.
        known = self._base
        self._base = hold_vote(table, settings) if known is None else known.relabel(table.bag_labels)
        run_vote = apply_corrections(inputs, self._base)
        self.resources.progress(f"vote on {settings.label}", 1, 1)
        return run_vote

    def _join(self, names: Sequence[str], key: str, problems: list[Problem]) -> None:
        """Index masks, COCO file and scores of all classes together."""
        stems = name_bags([image.bag for image in self.images])
        with contextlib.suppress(BadInputError):
            record = convert_record(read_json(self.folder.classes_path), ClassesRecord, self.folder.path)
            files = [self.folder.coco_path, *map(self.folder.mask_path, stems.values())]
            if record.complete and record.key == key and all(path.is_file() for path in files):
                return
        runs = {name: Run(self.folder.path / "classes" / name) for name in names}
        records = [
            _make_class_record(runs, index, image.bag.name, stems[image.bag.name], sorted(image.names))
            for index, image in enumerate(self.images)
        ]
        content = {"key": key, "settings": self.settings.to_dict(), "problems": problems}
        _write_joined(self.folder, name_path_or_uri(self.root), runs, records, content, self.resources)


def join_again(runs: ClassRuns, resources: Resources) -> ClassRuns:
    """Write what joins the classes again where one of their runs was written since; `runs` itself where none was."""
    record, known = runs.record, {name: Run(run.folder.path) for name, run in runs.runs.items()}
    key = make_key(version=record.segvote, classes={name: run.record.key for name, run in known.items()})
    if key == record.key:
        return runs
    records = [_make_class_record(known, i, one.name, one.stem, one.classes) for i, one in enumerate(record.images)]
    content = {"key": key, "settings": record.settings, "problems": record.problems}
    with runs.folder.lock():
        _write_joined(runs.folder, record.input, known, records, content, resources)
    return ClassRuns(runs.folder.path)


def _write_joined(
    folder: RunFolder,
    root: str,
    runs: Mapping[str, Run],
    records: Sequence[ClassRecord],
    content: Mapping[str, Any],
    resources: Resources,
) -> None:
    """Write index masks, COCO file and record; `content` are its other fields."""
    _write_record(folder, root, complete=False)
    counted = count_along(records, "write index masks", len(records), resources.progress)
    written = (write_index(folder, runs, index, record) for index, record in enumerate(counted))
    objects = divide_parts(runs, [record.name for record in records], chain.from_iterable(written))
    write_coco_file(objects, folder.coco_path, ExportOptions(labels=tuple(runs), instances=True))
    remove_stale(folder.path, [record.stem for record in records])
    _write_record(folder, root, True, classes=list(runs), images=records, **content)


def _make_class_record(runs: Mapping[str, Run], index: int, name: str, stem: str, classes: list[str]) -> ClassRecord:
    bags = {name: run.bags[index] for name, run in runs.items()}
    one, chosen = next(iter(bags.values())), {name: bag for name, bag in bags.items() if bag.has_mask}
    return ClassRecord(
        name=name,
        stem=stem,
        classes=classes,
        height=one.height,
        width=one.width,
        n_segments=one.n_segments,
        n_frames=one.n_frames,
        areas={name: bag.area for name, bag in chosen.items()},
        scores={name: bag.score for name, bag in chosen.items()},
    )


def _write_record(folder: RunFolder, root: str, complete: bool, **content: Any) -> None:
    near = name_near(root, folder.path)
    record = ClassesRecord(__version__, list_versions(), root, complete, near, **content)
    write_json(folder.classes_path, record)


def share_parts(source: RunFolder, target: RunFolder, bags: Sequence[Bag]) -> None:
    """Give `target` the segments, superpixels, features and posters that `source` has of some bags.

    Files are hard links where the file system has them: each folder stays whole when the other is moved or deleted, and
    no file is changed in place.
    """
    for bag in bags:
        files = [*(source.path / "segments").glob(f"{bag.segments_key}*"), source.features_path(bag.features_key)]
        parts = [part for path in files for part in (path.iterdir() if path.is_dir() else [path])]
        for path in [*parts, get_poster_path(source, bag.segments_key)] if bag.n_frames else parts:
            shared = target.path / path.relative_to(source.path)
            if shared.exists() and shared.samefile(path):
                continue
            with atomic_path(shared, durable=False) as temporary:
                try:
                    os.link(path, temporary)
                except OSError:  # another disk, or a file system without links
                    shutil.copyfile(path, temporary)


# Index masks: where the masks of several classes overlap, the higher weight wins -------------------------------------


def join_masks(masks: np.ndarray, sureness: np.ndarray, numbers: Sequence[int]) -> np.ndarray:
    """(h, w) uint8 number of the class at each pixel, 0 for none, from masks (n_classes, h, w) bool.

    Where masks overlap, the class of the highest sureness, (n_classes, h, w) or (n_classes, 1, 1), wins; of equals the
    first.
    """
    highest = np.where(masks, sureness, -np.inf).argmax(axis=0)
    return np.where(masks.any(axis=0), np.array(numbers)[highest], 0).astype(np.uint8)


def write_index(folder: RunFolder, runs: Mapping[str, Run], index: int, record: ClassRecord) -> list[Annotation]:
    """Write the index mask of image `index`, or of a video and its frames; returns its annotations, with overlaps.

    `runs` are those of the classes, in the order of their numbers.
    """
    _write_index_mask(folder.mask_path(record.stem), _join_image(runs, index, record))
    annotations = list(list_joined(runs, index, record.name))
    if record.n_frames:
        frames = name_frames([PurePosixPath(annotation.name).name for annotation in annotations])
        for frame, annotation in zip(frames, annotations, strict=True):
            _write_index_mask(folder.mask_path(f"{record.stem}/{frame}"), _join_parts(list(runs), annotation))
    return annotations


def _join_image(runs: Mapping[str, Run], index: int, record: ClassRecord) -> np.ndarray:
    """Segment by segment the class with the higher weight; a class whose pixels the user painted wins them."""
    shown = [(number, run) for number, run in enumerate(runs.values(), 1) if run.bags[index].has_mask]
    size = (record.height, record.width)
    if not shown:
        return np.zeros(size, np.uint8)
    masks = np.stack([run.read_mask(index) for _, run in shown])
    labels = resize_labels(shown[0][1].read_segments(index)["labels"], size)
    weights = np.stack([_weigh_pixels(run, index, labels) for _, run in shown])
    return join_masks(masks, weights, [number for number, _ in shown])


def _join_parts(names: list[str], annotation: Annotation) -> np.ndarray:
    """In a frame of a video the class with the higher score."""
    if not annotation.parts:
        return np.zeros((annotation.height, annotation.width), np.uint8)
    masks = np.stack([part.mask for part in annotation.parts])
    scores = np.array([part.score for part in annotation.parts])[:, None, None]
    return join_masks(masks, scores, [names.index(part.label) + 1 for part in annotation.parts])


def _write_index_mask(path: Path, indices: np.ndarray) -> None:
    picture = Image.fromarray(indices)
    picture.putpalette(make_voc_palette().ravel().tolist())
    write_bytes(path, encode_png(picture), durable=False)


def _weigh_pixels(run: Run, index: int, labels: np.ndarray) -> np.ndarray:
    """(h, w) weights of a class at the pixels of an image; infinite where the user painted."""
    weights = run.votes["weights"][run.get_slice(index)][labels]
    strokes = read_corrections(run.folder).strokes.get(run.bags[index].digest, ())
    painted = Canvas(labels.shape, strokes).exact
    return np.where(painted, np.inf, weights)
