"""Plain pictures: ``<image>.png`` with 255 object, 128 unsure, 0 background; and ``scores.csv``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from segvote.errors import BadInputError
from segvote.io.exports.base import ExportOptions, FileNamer, LabelTable, list_parts, number_instances
from segvote.io.masks import IGNORE, OBJECT, write_mask
from segvote.io.tables import write_csv
from segvote.types import Annotation, Part

MOST = 254


def write_png(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write one mask per image; with several labels also ``classes/<image>.png`` with their numbers from 1 on."""
    labels, namer = LabelTable(options.labels), FileNamer()
    namer.choose_stem("classes")  # an image of that name may not get in the way
    rows: list[dict[str, Any]] = []
    for annotation in annotations:
        file_name = f"{namer.choose_stem(annotation.name)}.png"
        parts = list_parts(annotation, options)
        rows += [_describe_part(annotation, file_name, part) for part in parts]
        objects = number_instances(annotation, parts, [OBJECT] * len(parts), IGNORE)
        write_mask(folder / file_name, objects.astype(np.uint8))
        if len(options.labels) > 1:
            numbers = [_number(labels, part) for part in parts]
            classes = number_instances(annotation, parts, numbers, OBJECT)
            write_mask(folder / "classes" / file_name, classes.astype(np.uint8))
    write_csv(folder / "scores.csv", rows, ["image", "mask", "label", "score", "area"])
    return folder


def _number(labels: LabelTable, part: Part) -> int:
    number = labels.find(part.label) + 1
    if number > MOST:
        raise BadInputError(f"a class picture holds at most {MOST} labels, got {number}; export fewer at a time")
    return number


def _describe_part(annotation: Annotation, file_name: str, part: Part) -> dict[str, Any]:
    area, score = int(part.mask.sum()), float(part.score)
    return {"image": annotation.name, "mask": file_name, "label": part.label, "score": score, "area": area}
