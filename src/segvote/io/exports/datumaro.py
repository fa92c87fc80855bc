"""Datumaro: ``annotations/<subset>.json`` with COCO run lengths, pictures under ``images/<subset>``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from segvote.io.encodings.polygons import list_outlines
from segvote.io.encodings.rle import encode_rle
from segvote.io.exports.base import ExportOptions, FileNamer, LabelTable, list_parts
from segvote.io.exports.pictures import place_image
from segvote.io.exports.streams import open_records
from segvote.io.exports.subsets import Split
from segvote.types import Annotation, Part

IMAGE_MEDIA = 2


def write_datumaro(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write the annotations and pictures of each subset; returns `folder`."""
    labels, namer, split = LabelTable(options.labels), FileNamer(), Split(options.val_share, "default")
    with contextlib.ExitStack() as stack:
        paths = {subset: folder / f"annotations/{subset}.json" for subset in split.names}
        items = {subset: stack.enter_context(open_records(path, "items")) for subset, path in paths.items()}
        for annotation in annotations:
            subset, stem = split.choose(annotation), namer.choose_stem(annotation.name)
            file_name = stem + PurePosixPath(annotation.name).suffix
            items[subset].add(_describe_item(annotation, stem, file_name, labels, options))
            place_image(annotation, folder / "images" / subset / file_name, options)
        for records in items.values():
            records.tail = _describe_set(labels, options)
    return folder


def _describe_set(labels: LabelTable, options: ExportOptions) -> dict[str, Any]:
    known = [{"name": name, "parent": "", "attributes": ["score"]} for name in labels.names]
    return {
        "dm_format_version": "1.0",
        "media_type": IMAGE_MEDIA,
        "infos": {"model_version": options.model_version},
        "categories": {"label": {"labels": known, "label_groups": [], "attributes": []}},
    }


def _describe_item(
    annotation: Annotation, stem: str, file_name: str, labels: LabelTable, options: ExportOptions
) -> dict[str, Any]:
    objects: list[dict[str, Any]] = []
    for group, part in enumerate(list_parts(annotation, options), start=1):
        for shape in _outline(part) if options.polygons else [{"type": "mask", "rle": encode_rle(part.mask)}]:
            common = {"attributes": {"score": float(part.score)}, "group": group, "z_order": group - 1}
            objects.append({**common, **shape, "id": len(objects), "label_id": labels.find(part.label)})
    size = [annotation.height, annotation.width]
    return {"id": stem, "annotations": objects, "image": {"path": file_name, "size": size}}


def _outline(part: Part) -> list[dict[str, Any]]:
    rings = list_outlines(part.mask)
    return [{"type": "polygon", "points": ring.astype(float).ravel().tolist()} for ring in rings]
