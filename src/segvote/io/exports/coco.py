"""COCO: ``annotations/instances_default.json`` with every image and its masks, ``results.json`` with their scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from segvote.io.encodings.polygons import list_outlines
from segvote.io.encodings.rle import encode_rle
from segvote.io.exports.base import ExportOptions, LabelTable, check_name, copy_image, list_parts, measure_box
from segvote.io.exports.streams import RecordFile, open_records
from segvote.types import Annotation, Part


@dataclass(frozen=True)
class Shape:
    """What COCO says of one part of an image: far smaller than its mask."""

    label: str
    area: int  # pixels
    box: tuple[int, int, int, int]  # left, top, width, height
    segmentation: Any  # run lengths, or outlines with holes bridged
    track_id: int | None = None


def measure_shape(part: Part, polygons: bool = False) -> Shape:
    """The shape of a part that is not empty."""
    if polygons:
        segmentation: Any = [ring.ravel().tolist() for ring in list_outlines(part.mask)]
    else:
        segmentation = encode_rle(part.mask)
    return Shape(part.label, int(np.count_nonzero(part.mask)), measure_box(part.mask), segmentation, part.track_id)


def write_coco(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write the annotations, the results file and, if asked to, the pictures under ``images/``.

    Returns ``annotations/instances_default.json``, as CVAT and Datumaro call it.
    """
    path = folder / "annotations/instances_default.json"
    with open_records(folder / "results.json") as results:
        write_coco_file(_watch(annotations, folder, options, results), path, options)
    return path


def _watch(
    annotations: Iterable[Annotation], folder: Path, options: ExportOptions, results: RecordFile
) -> Iterator[Annotation]:
    """Pass the annotations on, writing their scores and pictures on the way."""
    labels = LabelTable(options.labels)
    for image_id, annotation in enumerate(annotations, start=1):
        if options.copy_images:
            copy_image(annotation, folder / "images" / check_name(annotation.name))
        for part in list_parts(annotation, options):
            record = _describe_shape(measure_shape(part), image_id, labels.find(part.label) + 1)
            results.add({**record, "score": float(part.score)})
        yield annotation


def write_coco_file(annotations: Iterable[Annotation], path: Path, options: ExportOptions) -> Path:
    """Write one COCO file: ids from 1 in the order given; images without annotation stay listed."""
    shapes = (
        (annotation, [measure_shape(part, options.polygons) for part in list_parts(annotation, options)])
        for annotation in annotations
    )
    return write_shapes(shapes, path, options)


def write_shapes(measured: Iterable[tuple[Annotation, Sequence[Shape]]], path: Path, options: ExportOptions) -> Path:
    """As `write_coco_file`, of images whose shapes are measured already; what parts they have does not matter then."""
    labels, images = LabelTable(options.labels), []
    with open_records(path, "annotations") as records:
        n_parts = 0
        for image_id, (annotation, shapes) in enumerate(measured, start=1):
            size = {"height": annotation.height, "width": annotation.width}
            images.append({"id": image_id, "file_name": annotation.name, **size})
            for shape in shapes:
                n_parts += 1
                record = _describe_shape(shape, image_id, labels.find(shape.label) + 1)
                records.add({**record, "id": n_parts, "area": shape.area, "iscrowd": 0})
        categories = [{"id": number, "name": name, "supercategory": ""} for number, name in enumerate(labels.names, 1)]
        info = {"description": "masks by segvote", "version": options.model_version}
        records.tail = {"images": images, "categories": categories, "info": info, "licenses": []}
    return path


def _describe_shape(shape: Shape, image_id: int, category_id: int) -> dict[str, Any]:
    track = {} if shape.track_id is None else {"track_id": shape.track_id}
    return {
        "bbox": list(shape.box),
        "category_id": category_id,
        "image_id": image_id,
        "segmentation": shape.segmentation,
        **track,
    }
