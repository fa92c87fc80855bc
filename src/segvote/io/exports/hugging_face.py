"""Hugging Face: an image folder that ``datasets`` loads, with the columns ``image`` and ``mask``.

A pixel of a mask is 0 background, the number of its label from 1 on, or 255 unsure.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import numpy as np

from segvote.errors import BadInputError
from segvote.io.atomic import atomic_path
from segvote.io.exports.base import ExportOptions, FileNamer, LabelTable, list_parts, number_instances
from segvote.io.exports.pictures import place_image
from segvote.io.exports.subsets import Split
from segvote.io.masks import write_mask
from segvote.io.tables import write_json
from segvote.types import Annotation

UNSURE = 255
MOST = 254


def write_hugging_face(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write ``<subset>/``: pictures, ``masks/`` and ``metadata.jsonl``; and ``id2label.json``. Returns `folder`."""
    labels, namer, split = LabelTable(options.labels), FileNamer(), Split(options.val_share)
    with contextlib.ExitStack() as stack:
        rows = {}
        for subset in split.names:
            path = stack.enter_context(atomic_path(folder / subset / "metadata.jsonl"))
            rows[subset] = stack.enter_context(path.open("w", encoding="utf-8", newline="\n"))
        for annotation in annotations:
            subset, stem = split.choose(annotation), namer.choose_flat_stem(annotation.name)
            picture = f"{stem}{PurePosixPath(annotation.name).suffix}"
            place_image(annotation, folder / subset / picture, options)
            _write_classes(annotation, folder / subset / f"masks/{stem}.png", labels, options)
            names = {} if options.images == "none" else {"file_name": picture}
            rows[subset].write(json.dumps({**names, "mask_file_name": f"masks/{stem}.png"}) + "\n")
    write_json(folder / "id2label.json", dict(enumerate(["background", *labels.names])))
    return folder


def _write_classes(annotation: Annotation, path: Path, labels: LabelTable, options: ExportOptions) -> None:
    parts = list_parts(annotation, options)
    numbers = [labels.find(part.label) + 1 for part in parts]
    if max(numbers, default=0) > MOST:
        raise BadInputError(f"a mask holds at most {MOST} labels, got {max(numbers)}; export fewer at a time")
    write_mask(path, number_instances(annotation, parts, numbers, UNSURE).astype(np.uint8))
