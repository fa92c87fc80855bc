"""From a finished run to the files of another tool: its annotations, with pixels close to the threshold as unsure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from segvote import __version__
from segvote.errors import BadInputError
from segvote.io import EXPORTS
from segvote.io.exports.base import ExportOptions
from segvote.io.files import remove_leftovers
from segvote.io.images import resize_labels
from segvote.io.names import encode_name, encode_names
from segvote.io.progress_bar import choose_progress
from segvote.io.stores import open_folders
from segvote.progress import Progress, count_along
from segvote.run.classes import ClassRuns, open_any_run
from segvote.run.correction_log import Action
from segvote.run.corrections import Corrections, read_corrections
from segvote.run.run import Run, open_run
from segvote.run.strokes import Canvas, label_instances
from segvote.steps.video.write import add_frame_pictures
from segvote.types import WITH, Annotation

# Name of an image and of a class to its *cut* and *join* actions.
Divisions = dict[tuple[str, str], Sequence[Action]]


def export(
    run: Run | ClassRuns | Path | str,
    format: str,
    folder: Path | str | None = None,
    *,
    label: str | None = None,
    unsure: float = 0.0,
    instances: bool = False,
    min_area: int = 1,
    polygons: bool = False,
    images: str = ExportOptions.images,
    val_share: float = ExportOptions.val_share,
    boxes: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write the masks of a run in the format of another tool.

    Parameters
    ----------
    run : Run, ClassRuns, path or str
        A finished run, a run on several classes, or the folder of either.
    format : str
        A name of `segvote.EXPORTS`.
    folder : path or str, optional
        Where to write; default ``exports/FORMAT`` in the run folder.
    label : str, optional
        Name of the object in the export; default: that of the run. Classes keep their names.
    unsure : float
        Segments this close to the threshold become unsure pixels where the format has them: a share of the image's
        range of scores, 0: none.
    instances : bool
        Every connected region is an object of its own.
    min_area : int
        With `instances`, regions of fewer pixels are left out.
    polygons : bool
        Outlines instead of masks, where the format has both.
    images : {"link", "copy", "none"}
        Put the pictures where the format expects them: as hard links, or copies where links cannot be made; as copies;
        or not.
    val_share : float
        Share of the images for validation, in formats that have a split; 0: no split.
    boxes : bool
        YOLO: boxes around the objects instead of outlines, for readers of detections.
    overwrite : bool
        Write into a folder that holds something already.
    progress : callable, optional
        As for `annotate`.

    Returns
    -------
    Path
        The file or folder to open with that tool.

    Examples
    --------
    >>> import segvote
    >>> segvote.export("out", "coco", label="cup").as_posix()
    'out/exports/coco/annotations/instances_default.json'
    """
    write = EXPORTS[format]
    if not 0 <= unsure <= 1:
        raise BadInputError(f"the unsure band is a share of the scores, 0 to 1; got {unsure}")
    version = f"segvote {__version__}"
    options = ExportOptions((), polygons, instances, min_area, images, val_share, boxes, version)
    with (
        choose_progress(progress) as report,
        open_run(run, report) as opened,
        open_folders(outs=[folder], progress=report) as (_, (target,)),
    ):
        if not isinstance(opened, Run | ClassRuns):
            opened = open_any_run(opened)
        labels, annotations = _choose_annotations(opened, label, unsure, instances)
        bags = opened.images if isinstance(opened, ClassRuns) else opened.bags
        names = encode_names((one.name for one in bags), foldable=images != "none")
        annotations = (replace(one, name=names.get(one.name) or encode_name(one.name)) for one in annotations)
        target = opened.folder.path / "exports" / format if target is None else Path(target)
        if target.exists() and not target.is_dir():
            raise BadInputError(f"{target} is a file; -o wants a folder")
        if target.is_dir():
            # It may hold an earlier export that was corrected since.
            if not overwrite and any(target.iterdir()):
                raise BadInputError(f"{target} is not empty; choose another -o folder, or --overwrite to write into it")
            remove_leftovers(target)  # of an export that was killed: training tools read hidden pictures too
        n_annotations = sum(one.n_frames or 1 for one in bags)
        pictured = annotations if images == "none" else add_frame_pictures(annotations)
        return write(count_along(pictured, "export", n_annotations, report), target, replace(options, labels=labels))


def _choose_annotations(
    run: Run | ClassRuns, label: str | None, unsure: float, instances: bool
) -> tuple[tuple[str, ...], Iterator[Annotation]]:
    """The labels, and the annotations."""
    found = divide_instances(run, run.list_annotations()) if instances else run.list_annotations()
    if isinstance(run, Run):
        name = run.settings.label if label is None else label
        return (name,), _label_annotations(run, found, name, unsure)
    if label is not None or unsure:
        raise BadInputError(
            "a run on several classes has their names and no unsure band; export without label and band"
        )
    return run.names, found


def _label_annotations(run: Run, annotations: Iterable[Annotation], label: str, band: float) -> Iterator[Annotation]:
    corrections = read_corrections(run.folder)
    numbers = {bag.name: index for index, bag in enumerate(run.bags) if bag.bag_label == WITH and not bag.n_frames}
    for annotation in annotations:
        parts = tuple(replace(part, label=label) for part in annotation.parts)
        index = numbers.get(annotation.name)
        unsure = _draw_unsure(run, index, band, corrections) if band and index is not None else None
        yield replace(annotation, parts=parts, unsure=unsure)


def _draw_unsure(run: Run, index: int, band: float, corrections: Corrections) -> np.ndarray:
    """(h, w) bool: segments with a score close to the threshold, by a share of the image's range of scores."""
    bag, labels, scores = run.bags[index], run.read_segments(index)["labels"], run.votes["scores"][run.get_slice(index)]
    unsure = np.abs(scores - bag.threshold) <= band * (scores.max() - scores.min())
    strokes = corrections.strokes.get(bag.digest, [])
    if strokes:  # a user label is sure
        unsure &= Canvas(labels.shape, strokes).label_segments(labels) < 0
    size = (bag.height, bag.width)
    return resize_labels(unsure[labels], size) & ~Canvas(size, strokes).exact


def divide_instances(run: Run | ClassRuns, annotations: Iterable[Annotation]) -> Iterator[Annotation]:
    """Give every part of a run's annotations its instances: connected regions, cut and joined as in the review."""
    divisions = read_divisions(run)
    for annotation in annotations:
        own = [(part, divisions.get((annotation.name, part.label), ())) for part in annotation.parts]
        parts = tuple(replace(part, instances=label_instances(part.mask, several)) for part, several in own)
        yield replace(annotation, parts=parts)


def read_divisions(run: Run | ClassRuns) -> Divisions:
    """The *cut* and *join* actions of a run, or of all classes of one."""
    names = [image.name for image in (run.images if isinstance(run, ClassRuns) else run.bags)]
    found: Divisions = {}
    for one in run.runs.values() if isinstance(run, ClassRuns) else [run]:
        divisions = read_corrections(one.folder).divisions
        for name, bag in zip(names, one.bags, strict=True):
            if bag.digest in divisions:
                found[name, one.settings.label] = divisions[bag.digest]
    return found
