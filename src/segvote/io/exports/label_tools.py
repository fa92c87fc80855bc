"""Label Studio and labelme: masks (exact) or polygons."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

import numpy as np
from PIL import Image

from segvote.io.encodings.polygons import list_outlines
from segvote.io.encodings.rle import encode_brush
from segvote.io.exports.base import ExportOptions, list_parts, measure_box, open_records, place_image
from segvote.io.files import write_text
from segvote.io.masks import encode_png
from segvote.io.names import FileNamer, check_name
from segvote.io.tables import write_json
from segvote.types import Annotation, Part

# Label Studio ---------------------------------------------------------------------------------------------------------

LOCAL_FILES = "/data/local-files/?d="  # address of Label Studio's local storage


def write_label_studio(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write ``tasks.json``, which is returned, ``config.xml``, and the pictures under ``images/``."""
    path = folder / "tasks.json"
    with open_records(path) as tasks:
        for annotation in annotations:
            place_image(annotation, folder / "images" / check_name(annotation.name), options)
            tasks.add(_describe_task(annotation, options))
    write_text(folder / "config.xml", _format_config(options))
    return path


def _describe_task(annotation: Annotation, options: ExportOptions) -> dict[str, Any]:
    results: list[dict[str, Any]] = []
    scores = []
    percent = 100 / np.array([annotation.width, annotation.height])
    for part in list_parts(annotation, options):
        scores.append(float(part.score))
        values: list[dict[str, Any]]
        if options.polygons:
            values = [{"closed": True, "points": (ring * percent).tolist()} for ring in list_outlines(part.mask)]
        else:
            values = [{"format": "rle", "rle": encode_brush(part.mask)}]
        results += [_describe_result(annotation, part, value, len(results) + i) for i, value in enumerate(values)]
    prediction = {"model_version": options.model_version, "result": results, "score": max(scores, default=0.0)}
    data = {
        "height": annotation.height,
        "image": LOCAL_FILES + quote(os.fsencode(annotation.name)),
        "name": annotation.name,
    }
    return {"data": {**data, "width": annotation.width}, "predictions": [prediction]}


def _describe_result(annotation: Annotation, part: Part, value: dict[str, Any], number: int) -> dict[str, Any]:
    kind = "polygonlabels" if "points" in value else "brushlabels"
    return {
        "from_name": "label",
        "id": hashlib.sha256(f"{annotation.name}/{number}".encode("utf-8", "replace")).hexdigest()[:10],
        "image_rotation": 0,
        "original_height": annotation.height,
        "original_width": annotation.width,
        "score": float(part.score),
        "to_name": "image",
        "type": kind,
        "value": {**value, kind: [part.label]},
    }


def _format_config(options: ExportOptions) -> str:
    tag = "PolygonLabels" if options.polygons else "BrushLabels"
    lines = [f"    <Label value={quoteattr(name)}/>\n" for name in options.labels]
    return (
        '<View>\n  <Image name="image" value="$image" zoom="true"/>\n'
        f'  <{tag} name="label" toName="image">\n{"".join(lines)}  </{tag}>\n</View>\n'
    )


# labelme --------------------------------------------------------------------------------------------------------------

VERSION = "5.4.1"  # of the layout; labelme 6.3.1 reads it and does not compare


def write_labelme(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write ``<image>.json`` for each image, beside its picture unless it is not wanted; returns `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    namer = FileNamer()
    for annotation in annotations:
        path = folder / f"{namer.choose_stem(annotation.name)}.json"
        picture = path.with_name(path.stem + PurePosixPath(annotation.name).suffix)
        place_image(annotation, picture, options)
        if options.images == "none" and annotation.image_path is not None:
            picture = annotation.image_path
        # labelme looks for it from the folder of the JSON file.
        address = Path(os.path.relpath(picture.resolve(), path.parent.resolve())).as_posix()
        write_json(path, _describe(annotation, address, options))
    return folder


def _describe(annotation: Annotation, image_path: str, options: ExportOptions) -> dict[str, Any]:
    shapes: list[dict[str, Any]] = []
    for number, part in enumerate(list_parts(annotation, options), start=1):
        common = {"label": part.label, "description": "", "flags": {}, "score": float(part.score)}
        # The outlines of one object belong to one group.
        shapes += [{**common, "group_id": number, **shape} for shape in _list_shapes(part.mask, options.polygons)]
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


def _list_shapes(mask: np.ndarray, polygons: bool) -> list[dict[str, Any]]:
    """The outlines of a mask that is not empty, or its crop."""
    if polygons:
        return [{"shape_type": "polygon", "points": ring.tolist(), "mask": None} for ring in list_outlines(mask)]
    left, top, width, height = measure_box(mask)
    # Both corners belong to the crop. The picture holds 0 and 1, as labelme itself writes it.
    corners = [[left, top], [left + width - 1, top + height - 1]]
    crop = Image.fromarray(mask[top : top + height, left : left + width].astype(np.uint8))
    return [{"shape_type": "mask", "points": corners, "mask": base64.b64encode(encode_png(crop)).decode("ascii")}]
