"""YOLO: a text file per image, in fractions of its size; a line per connected region, ``class x1 y1 x2 y2 …``, or per
box, ``class x y width height`` with x and y of its centre.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import numpy as np

from segvote.io.encodings.polygons import list_outlines
from segvote.io.exports.base import ExportOptions, Split, find_kind, list_parts, measure_box, place_image
from segvote.io.files import write_text
from segvote.io.names import FileNamer
from segvote.types import Annotation

# Extensions that Ultralytics lists, of those segvote reads.
TRAINABLE = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})


def write_yolo(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write ``data.yaml``, which is returned, ``labels/*.txt`` and ``images/*``.

    With a split, ``train`` and ``val`` lie below both.
    """
    namer, split = FileNamer(), Split(options.val_share, "")
    for annotation in annotations:
        # Most readers of YOLO look into one folder.
        subset, stem = split.choose(annotation), namer.choose_flat_stem(annotation.name)
        write_text(folder / "labels" / subset / f"{stem}.txt", "".join(_format_lines(annotation, options)))
        suffix = PurePosixPath(annotation.name).suffix
        if suffix.lower() not in TRAINABLE:  # a JPEG under its other names stays a JPEG, a GIF becomes a PNG
            suffix = ".jpg" if find_kind(suffix) == "JPEG" else ".png"
        place_image(annotation, folder / "images" / subset / f"{stem}{suffix}", options)
    path = folder / "data.yaml"
    write_text(path, _format_data(options.labels, split))
    return path


def _format_lines(annotation: Annotation, options: ExportOptions) -> Iterator[str]:
    size = np.array([annotation.width, annotation.height])
    for part in list_parts(annotation, options):
        if options.boxes:
            left, top, width, height = measure_box(part.mask)
            box = np.array([[left + width / 2, top + height / 2], [width, height]]) / size
            lines = [" ".join(f"{value:.9f}" for value in box.ravel())]  # Datumaro refuses exponents
        else:
            rings = [(ring / size).ravel() for ring in list_outlines(part.mask)]
            lines = [" ".join(f"{value:.9g}" for value in ring) for ring in rings]
        yield from (f"{options.labels.index(part.label)} {line}\n" for line in lines)


def _format_data(names: tuple[str, ...], split: Split) -> str:
    # Without a `path` the trainer starts from this file's own folder. A JSON text is a YAML text too.
    lines = [f"  {number}: {json.dumps(name)}\n" for number, name in enumerate(names)]
    train, *others = [f"images/{subset}".rstrip("/") for subset in split.names if split.counts[subset]] or ["images"]
    val = others[0] if others else train  # a trainer refuses to start without
    return f"train: {train}\nval: {val}\nnames:" + ("\n" + "".join(lines) if lines else " {}\n")
