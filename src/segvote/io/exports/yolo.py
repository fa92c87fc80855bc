"""YOLO: a text file per image, in fractions of its size; a line per connected region, ``class x1 y1 x2 y2 …``, or per
box, ``class x y width height`` with x and y of its centre.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import numpy as np

from segvote.io.atomic import write_text
from segvote.io.encodings.polygons import list_outlines
from segvote.io.exports.base import (
    ExportOptions,
    FileNamer,
    LabelTable,
    check_name,
    copy_image,
    list_parts,
    measure_box,
)
from segvote.types import Annotation

TRAIN, VAL = "train", "val"


def write_yolo(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write ``data.yaml``, which is returned, ``labels/*.txt`` and, if asked to, ``images/*``.

    With a split, ``train`` and ``val`` lie below.
    """
    labels, namer = LabelTable(options.labels), FileNamer()
    format_lines = _format_boxes if options.boxes else _format_outlines
    for number, annotation in enumerate(annotations):
        part = "" if not options.val_share else VAL if options.is_for_validation(number) else TRAIN
        # Most readers of YOLO look into one folder; the path makes the name different.
        name = check_name(annotation.name) if options.nested else check_name(annotation.name).replace("/", "_")
        stem = namer.choose_stem(name)
        write_text(folder / "labels" / part / f"{stem}.txt", "".join(format_lines(annotation, labels, options)))
        if options.copy_images:
            suffix = PurePosixPath(annotation.name).suffix
            copy_image(annotation, folder / "images" / part / f"{stem}{suffix}")
    path = folder / "data.yaml"
    write_text(path, _format_data(labels.names, bool(options.val_share)))
    return path


def _format_outlines(annotation: Annotation, labels: LabelTable, options: ExportOptions) -> Iterator[str]:
    size = np.array([annotation.width, annotation.height])
    for part in list_parts(annotation, options):
        number = labels.find(part.label)
        for ring in list_outlines(part.mask):
            points = " ".join(f"{value:.9g}" for value in (ring / size).ravel())
            yield f"{number} {points}\n"


def _format_boxes(annotation: Annotation, labels: LabelTable, options: ExportOptions) -> Iterator[str]:
    size = np.array([annotation.width, annotation.height])
    for part in list_parts(annotation, options):
        left, top, width, height = measure_box(part.mask)
        centre = np.array([left + width / 2, top + height / 2]) / size
        # Datumaro refuses exponents.
        numbers = " ".join(f"{value:.9f}" for value in (*centre, *(np.array([width, height]) / size)))
        yield f"{labels.find(part.label)} {numbers}\n"


def _format_data(names: list[str], is_split: bool) -> str:
    # Without a `path` the trainer starts from this file's own folder. A JSON text is a YAML text too.
    lines = [f"  {number}: {json.dumps(name)}\n" for number, name in enumerate(names)]
    train, val = (f"images/{TRAIN}", f"images/{VAL}") if is_split else ("images", "images")
    return f"train: {train}\nval: {val}\nnames:" + ("\n" + "".join(lines) if lines else " {}\n")
