"""labelme: one JSON file per image, with mask crops (exact) or polygons."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from PIL import Image

from segvote.io.encodings.polygons import list_outlines
from segvote.io.exports.base import ExportOptions, FileNamer, list_parts, measure_box
from segvote.io.exports.pictures import place_image
from segvote.io.masks import encode_png
from segvote.io.tables import write_json
from segvote.types import Annotation, Part

VERSION = "5.4.1"  # of the layout; labelme 6.3.1 reads it and does not compare


def write_labelme(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write ``<image>.json`` for each image, beside its picture unless it is not wanted; returns `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    namer = FileNamer()
    for annotation in annotations:
        path = folder / f"{namer.choose_stem(annotation.name)}.json"
        picture = path.with_suffix("").with_name(path.stem + PurePosixPath(annotation.name).suffix)
        place_image(annotation, picture, options)
        if options.images == "none" and annotation.image_path is not None:
            picture = annotation.image_path
        write_json(path, _describe(annotation, _find_way(picture, path.parent), options))
    return folder


def _find_way(picture: Path, start: Path) -> str:
    """The picture as labelme looks for it, from the folder of the JSON file."""
    try:
        return Path(os.path.relpath(picture.resolve(), start.resolve())).as_posix()
    except ValueError:  # another drive on Windows
        return picture.resolve().as_posix()


def _describe(annotation: Annotation, image_path: str, options: ExportOptions) -> dict[str, Any]:
    shapes: list[dict[str, Any]] = []
    for number, part in enumerate(list_parts(annotation, options), start=1):
        shapes += _outline(part, number) if options.polygons else [_crop(part, number)]
    return {
        "version": VERSION,
        "flags": {},
        "shapes": shapes,
        "imagePath": image_path,
        "imageData": None,
        "imageHeight": annotation.height,
        "imageWidth": annotation.width,
        "segvote_name": annotation.name,  # labelme keeps keys it does not know
    }


def _crop(part: Part, number: int) -> dict[str, Any]:
    left, top, width, height = measure_box(part.mask)
    crop = part.mask[top : top + height, left : left + width]
    # Both corners belong to the crop. The picture holds 0 and 1, as labelme itself writes it.
    corners = [[left, top], [left + width - 1, top + height - 1]]
    picture = base64.b64encode(encode_png(Image.fromarray(crop.astype(np.uint8)))).decode("ascii")
    return _describe_shape(part, number, "mask", corners, picture)


def _outline(part: Part, number: int) -> list[dict[str, Any]]:
    rings = [ring.tolist() for ring in list_outlines(part.mask)]
    return [_describe_shape(part, number, "polygon", ring, None) for ring in rings]


def _describe_shape(part: Part, number: int, kind: str, points: list[list[int]], mask: str | None) -> dict[str, Any]:
    return {
        "label": part.label,
        "points": points,
        "group_id": number,  # the outlines of one object belong together
        "description": "",
        "shape_type": kind,
        "flags": {},
        "mask": mask,
        "score": float(part.score),
    }
