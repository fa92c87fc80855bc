"""Label Studio: ``tasks.json`` with one prediction per image, and ``config.xml``, the page on which they open."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

import numpy as np

from segvote.io.atomic import write_text
from segvote.io.encodings.polygons import list_outlines
from segvote.io.encodings.rle import encode_brush
from segvote.io.exports.base import ExportOptions, LabelTable, check_name, list_parts
from segvote.io.exports.pictures import place_image
from segvote.io.exports.streams import open_records
from segvote.types import Annotation, Part


def write_label_studio(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write ``tasks.json``, which is returned, ``config.xml``, and the pictures under ``images/``."""
    labels = LabelTable(options.labels)
    path = folder / "tasks.json"
    with open_records(path) as tasks:
        for annotation in annotations:
            place_image(annotation, folder / "images" / check_name(annotation.name), options)
            tasks.add(_describe_task(annotation, labels, options))
    write_text(folder / "config.xml", _format_config(labels.names, options))
    return path


def _describe_task(annotation: Annotation, labels: LabelTable, options: ExportOptions) -> dict[str, Any]:
    results: list[dict[str, Any]] = []
    scores = []
    for part in list_parts(annotation, options):
        labels.find(part.label)
        scores.append(float(part.score))
        values = _outline(part) if options.polygons else [{"format": "rle", "rle": encode_brush(part.mask)}]
        results += [_describe_result(annotation, part, value, len(results) + i) for i, value in enumerate(values)]
    prediction = {"model_version": options.model_version, "result": results, "score": max(scores, default=0.0)}
    data = {
        "height": annotation.height,
        "image": options.image_prefix + quote(os.fsencode(annotation.name)),
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


def _outline(part: Part) -> list[dict[str, Any]]:
    height, width = part.mask.shape
    percent = 100 / np.array([width, height])
    return [{"closed": True, "points": (ring * percent).tolist()} for ring in list_outlines(part.mask)]


def _format_config(names: list[str], options: ExportOptions) -> str:
    tag = "PolygonLabels" if options.polygons else "BrushLabels"
    lines = [f"    <Label value={quoteattr(name)}/>\n" for name in names]
    return (
        '<View>\n  <Image name="image" value="$image" zoom="true"/>\n'
        f'  <{tag} name="label" toName="image">\n{"".join(lines)}  </{tag}>\n</View>\n'
    )
