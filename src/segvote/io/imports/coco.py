"""COCO files of any tool: polygons, packed and plain run lengths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, to_builtins

from segvote.errors import BadInputError
from segvote.io.encodings.rle import decode_rle
from segvote.io.imports.base import clean_name, fill_polygons, join_shapes, read_schema
from segvote.io.tables import Finite, Size, Whole
from segvote.types import Annotation

Id = Whole | str


class _Category(Struct):
    id: Id
    name: str


class _Item(Struct):
    id: Id
    file_name: str


class _Image(_Item):
    height: Size
    width: Size


class _Runs(Struct):
    size: tuple[Size, Size]
    counts: str | list[Whole]


class _Shape(Struct):
    image_id: Id
    category_id: Id
    segmentation: _Runs | list[list[Finite]] | None = None
    score: Finite | None = None


class _CocoFile(Struct):
    images: list[_Image]
    annotations: list[_Shape]
    categories: list[_Category]


class _Box(Struct):
    image_id: Id
    bbox: tuple[Finite, Finite, Finite, Finite] | None = None  # x, y, width, height
    category_id: Id | None = None
    segmentation: Any = None


class _BoxFile(Struct):
    images: list[_Item]
    annotations: list[_Box]
    categories: list[_Category] | None = None


def parse_coco(data: Any, where: str) -> Iterator[Annotation]:
    """Images of a parsed COCO file in their order, those without annotation too; `where` names it in errors.

    Several polygons of one annotation are joined, and so are images of one name: merged files list an image under two
    ids. Names are cleaned by `clean_name`.
    """
    file = read_schema(data, _CocoFile, where)
    labels = {category.id: category.name for category in file.categories}
    shapes = defaultdict(list)
    for shape in file.annotations:
        shapes[shape.image_id].append(shape)
    _check_listed(shapes.keys(), file.images, where)
    for name, (image, *others) in _group_images(file.images, where).items():
        place = f"{where}, {image.file_name}"
        parts = _read_shapes(image, [shape for one in (image, *others) for shape in shapes[one.id]], labels, place)
        yield join_shapes(name, image.height, image.width, parts, place)


def _check_listed(ids: Any, images: Sequence[_Item], where: str) -> None:
    if strays := ids - {image.id for image in images}:
        raise BadInputError(f"{where}: annotations of images that are not listed: {sorted(map(str, strays))[:5]!s:.80}")


def _group_images(images: list[_Image], where: str) -> dict[str, list[_Image]]:
    """Images by their clean name, in the order of the first of each name."""
    groups: dict[str, list[_Image]] = defaultdict(list)
    for image in images:
        groups[clean_name(image.file_name)].append(image)
    for name, same in groups.items():
        if len({(image.width, image.height) for image in same}) > 1:
            raise BadInputError(f"{where}: {name} is listed with several sizes; export the file again")
    return groups


def _read_shapes(
    image: _Image, shapes: list[_Shape], labels: dict[Id, str], where: str
) -> Iterator[tuple[str, np.ndarray, float | None]]:
    for shape in shapes:
        if shape.category_id not in labels:
            raise BadInputError(f"{where}: category {shape.category_id!r:.60} is not listed; export the file again")
        yield labels[shape.category_id], _read_mask(shape, image.height, image.width, where), shape.score


def _read_mask(shape: _Shape, height: int, width: int, where: str) -> np.ndarray:
    if not shape.segmentation:
        raise BadInputError(f"{where}: an annotation has a box but no mask or polygon; delete it or draw its outline")
    if isinstance(shape.segmentation, list):
        return fill_polygons(shape.segmentation, height, width, where)
    if shape.segmentation.size != (height, width):
        raise BadInputError(
            f"{where}: a mask of {shape.segmentation.size} in an image of {(height, width)}; export it again"
        )
    return decode_rle(to_builtins(shape.segmentation))


def parse_coco_boxes(data: Any, where: str, label: str | None = None) -> dict[str, list[list[float]]]:
    """Boxes of a COCO file in which no annotation has a mask, for evaluation by boxes.

    Image name to x0, y0, x1, y1 with the ends left out, of one class or (None) of all; empty where a mask is found, or
    no annotation.
    """
    file = read_schema(data, _BoxFile, where)
    if any(box.segmentation for box in file.annotations):
        return {}
    _check_listed({box.image_id for box in file.annotations}, file.images, where)
    names = {image.id: clean_name(image.file_name) for image in file.images}
    wanted = {category.id for category in file.categories or () if category.name == label}
    boxes = defaultdict(list)
    for box in file.annotations:
        if box.bbox is None:
            raise BadInputError(f"{where}: an annotation has neither a mask nor a box; export the file again")
        if label is None or box.category_id in wanted:
            x, y, width, height = box.bbox
            boxes[names[box.image_id]].append([x, y, x + width, y + height])
    return dict(boxes)
