"""COCO and Datumaro: JSON files with run lengths or polygons, one per subset.

COCO's ``annotations/instances_<subset>.json`` holds images and masks, ``results_<subset>.json`` their scores.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from segvote.io.encodings.polygons import list_outlines
from segvote.io.encodings.rle import encode_rle
from segvote.io.exports.base import ExportOptions, Split, list_parts, measure_box, open_records, place_image
from segvote.io.names import FileNamer, check_name
from segvote.types import Annotation, Part

# COCO -----------------------------------------------------------------------------------------------------------------


Shape = dict[str, Any]  # COCO entry of one part of an image, without ids; far smaller than its mask


def measure_shape(part: Part, labels: Sequence[str], polygons: bool = False) -> Shape:
    """The shape of a part that is not empty: run lengths, or outlines with holes bridged."""
    if polygons:
        segmentation: Any = [ring.ravel().tolist() for ring in list_outlines(part.mask)]
    else:
        segmentation = encode_rle(part.mask)
    return {
        "area": int(np.count_nonzero(part.mask)),
        "bbox": list(measure_box(part.mask)),
        "category_id": labels.index(part.label) + 1,
        "segmentation": segmentation,
        **({} if part.track_id is None else {"track_id": part.track_id}),
    }


def write_coco(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write annotations, results and pictures of each subset; returns `folder`, or the only file of annotations.

    Files are called as Datumaro, CVAT and FiftyOne expect: ``annotations/instances_<subset>.json``, pictures below
    ``images/<subset>``. Without a split the only subset is ``default``.
    """
    split = Split(options.val_share, "default")
    with contextlib.ExitStack() as stack:
        files, results = {}, {}
        paths = {subset: folder / f"annotations/instances_{subset}.json" for subset in split.names}
        for subset, path in paths.items():
            files[subset] = stack.enter_context(open_coco_file(path, options))
            results[subset] = stack.enter_context(open_records(folder / f"results_{subset}.json"))
        for annotation in annotations:
            subset = split.choose(annotation)
            place_image(annotation, folder / "images" / subset / check_name(annotation.name), options)
            parts = list_parts(annotation, options)
            shapes = [measure_shape(part, options.labels, options.polygons) for part in parts]
            image_id = files[subset](annotation, shapes)
            for part in parts:
                result = measure_shape(part, options.labels)
                del result["area"]
                results[subset].add({**result, "image_id": image_id, "score": float(part.score)})
    return folder if options.val_share else paths["default"]


@contextlib.contextmanager
def open_coco_file(path: Path, options: ExportOptions) -> Iterator[Callable[[Annotation, Iterable[Shape]], int]]:
    """Write one COCO file, whole or not at all; gives a function that adds an image and returns its id, from 1."""
    images: list[dict[str, Any]] = []
    shape_ids = itertools.count(1)
    with open_records(path, "annotations") as records:

        def add(annotation: Annotation, shapes: Iterable[Shape]) -> int:
            image_id, size = len(images) + 1, {"height": annotation.height, "width": annotation.width}
            images.append({"id": image_id, "file_name": annotation.name, **size})
            for shape in shapes:
                records.add({**shape, "id": next(shape_ids), "image_id": image_id, "iscrowd": 0})
            return image_id

        yield add
        names = enumerate(options.labels, 1)
        categories = [{"id": number, "name": name, "supercategory": ""} for number, name in names]
        info = {"description": "masks by segvote", "version": options.model_version}
        records.tail = {"images": images, "categories": categories, "info": info, "licenses": []}


def write_coco_file(annotations: Iterable[Annotation], path: Path, options: ExportOptions) -> None:
    """Write one COCO file: ids from 1 in the order given; images without annotation stay listed."""
    measured = (
        (
            annotation,
            [measure_shape(part, options.labels, options.polygons) for part in list_parts(annotation, options)],
        )
        for annotation in annotations
    )
    write_shapes(measured, path, options)


def write_shapes(measured: Iterable[tuple[Annotation, Sequence[Shape]]], path: Path, options: ExportOptions) -> None:
    """As `write_coco_file`, of images whose shapes are measured already."""
    with open_coco_file(path, options) as add:
        for annotation, shapes in measured:
            add(annotation, shapes)


# Datumaro -------------------------------------------------------------------------------------------------------------

IMAGE_MEDIA = 2


def write_datumaro(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write the annotations and pictures of each subset; returns `folder`."""
    namer, split = FileNamer(), Split(options.val_share, "default")
    with contextlib.ExitStack() as stack:
        paths = {subset: folder / f"annotations/{subset}.json" for subset in split.names}
        items = {subset: stack.enter_context(open_records(path, "items")) for subset, path in paths.items()}
        for annotation in annotations:
            subset, stem = split.choose(annotation), namer.choose_stem(annotation.name)
            file_name = stem + PurePosixPath(annotation.name).suffix
            items[subset].add(_describe_item(annotation, stem, file_name, options))
            place_image(annotation, folder / "images" / subset / file_name, options)
        known = [{"name": name, "parent": "", "attributes": ["score"]} for name in options.labels]
        for records in items.values():
            records.tail = {
                "dm_format_version": "1.0",
                "media_type": IMAGE_MEDIA,
                "infos": {"model_version": options.model_version},
                "categories": {"label": {"labels": known, "label_groups": [], "attributes": []}},
            }
    return folder


def _describe_item(annotation: Annotation, stem: str, file_name: str, options: ExportOptions) -> dict[str, Any]:
    objects: list[dict[str, Any]] = []
    for group, part in enumerate(list_parts(annotation, options), start=1):
        shapes: list[dict[str, Any]]
        if options.polygons:
            rings = [ring.astype(float).ravel().tolist() for ring in list_outlines(part.mask)]
            shapes = [{"type": "polygon", "points": ring} for ring in rings]
        else:
            shapes = [{"type": "mask", "rle": encode_rle(part.mask)}]
        for shape in shapes:
            common = {"attributes": {"score": float(part.score)}, "group": group, "z_order": group - 1}
            objects.append({**common, **shape, "id": len(objects), "label_id": options.labels.index(part.label)})
    size = [annotation.height, annotation.width]
    return {"id": stem, "annotations": objects, "image": {"path": file_name, "size": size}}
