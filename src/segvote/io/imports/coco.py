"""COCO files of any tool: polygons, packed and plain run lengths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from segvote.errors import BadInputError
from segvote.io.encodings.rle import decode_rle
from segvote.io.imports.base import PartJoiner, check_size, clean_name, fill_polygons, need, read_number, read_score
from segvote.types import Annotation


def parse_coco(data: Any, where: str) -> Iterator[Annotation]:
    """Images of a COCO file, parsed, in their order, those without annotation too; `where` names it in errors.

    Several polygons of one annotation are joined, and so are images of one name: merged files list an image under two
    ids. Names are cleaned by `clean_name`.
    """
    labels = _index(need(data, "categories", list, where), "name", str, where)
    objects = defaultdict(list)
    for record in need(data, "annotations", list, where):
        objects[need(record, "image_id", (int, str), f"{where}, an annotation")].append(record)
    images = _index(need(data, "images", list, where), "file_name", str, where)
    if strays := objects.keys() - images.keys():
        raise BadInputError(f"{where}: annotations of images that are not listed: {sorted(map(str, strays))[:5]}")
    for records in _group_images(data["images"], where):
        found = [one for record in records for one in objects[record["id"]]]
        yield _read_image(records[0], found, labels, f"{where}, {records[0]['file_name']}")


def _group_images(records: list[Any], where: str) -> list[list[Any]]:
    """Records of images, those of one name together, in the order of their first."""
    groups: dict[str, list[Any]] = defaultdict(list)
    for record in records:
        groups[clean_name(record["file_name"])].append(record)
    for name, same in groups.items():
        sizes = {(record.get("width"), record.get("height")) for record in same if _is_hashable_size(record)}
        if len(sizes) > 1:
            raise BadInputError(f"{where}: {name} is listed with several sizes; export the file again")
    return list(groups.values())


def _is_hashable_size(record: Any) -> bool:
    return all(isinstance(record.get(side), int) for side in ("width", "height"))  # others are refused when read


def parse_coco_boxes(data: Any, where: str, label: str | None = None) -> dict[str, list[list[float]]]:
    """Boxes of a COCO file in which no annotation has a mask, for the sake of those that count by boxes.

    Image name to x0, y0, x1, y1 with the ends left out, of one class or (None) of all; empty where a mask is found, or
    no annotation.
    """
    records = need(data, "annotations", list, where)
    if any(isinstance(record, dict) and record.get("segmentation") for record in records):
        return {}
    names = _index(need(data, "images", list, where), "file_name", str, where)
    labels = _index(data.get("categories") or [], "name", str, where) if label is not None else {}
    boxes = defaultdict(list)
    for number, record in enumerate(records, start=1):
        place = f"{where}, annotation {number}"
        image = need(record, "image_id", (int, str), place)
        if image not in names:
            raise BadInputError(f"{place}: its image {image!r:.60} is not listed; export the file again")
        if label is None or labels.get(need(record, "category_id", (int, str), place)) == label:
            boxes[clean_name(names[image])].append(_read_box(record, place))
    return dict(boxes)


def _read_box(record: Any, where: str) -> list[float]:
    numbers = need(record, "bbox", list, where)
    if len(numbers) != 4:
        raise BadInputError(f"{where}: expected 'bbox' to be x, y, width, height, got {len(numbers)} of them")
    x, y, width, height = (read_number(number, where) for number in numbers)
    return [x, y, x + width, y + height]


def _index(records: Any, key: str, kind: type, where: str) -> dict[int | str, Any]:
    if not isinstance(records, list):
        raise BadInputError(f"{where}: expected a list, got {type(records).__name__}; export the file again")
    return {need(record, "id", (int, str), where): need(record, key, kind, where) for record in records}


def _read_image(image: Any, objects: list[Any], labels: dict[int | str, str], where: str) -> Annotation:
    height, width = check_size(image.get("height"), image.get("width"), where)
    joiner = PartJoiner(height, width, where)
    for record in objects:
        mask = _read_mask(record.get("segmentation"), height, width, where)
        joiner.add(_find_label(record, labels, where), mask, read_score(record.get("score"), where))
    return Annotation(clean_name(image["file_name"]), height, width, joiner.join())


def _find_label(record: Any, labels: dict[int | str, str], where: str) -> str:
    category = need(record, "category_id", (int, str), where)
    if category not in labels:
        raise BadInputError(f"{where}: category {category!r} is not listed; export the file again")
    return labels[category]


def _read_mask(segmentation: Any, height: int, width: int, where: str) -> np.ndarray:
    if isinstance(segmentation, dict):
        check_size(*_list_two(segmentation.get("size")), where)
        mask = decode_rle(segmentation)
        if mask.shape != (height, width):
            raise BadInputError(f"{where}: a mask of {mask.shape} in an image of {(height, width)}; export it again")
        return mask
    if isinstance(segmentation, list) and segmentation:
        return fill_polygons(segmentation, height, width, where)
    raise BadInputError(f"{where}: an annotation has a box but no mask or polygon; delete it or draw its outline")


def _list_two(size: Any) -> tuple[Any, Any]:
    return (size[0], size[1]) if isinstance(size, list) and len(size) == 2 else (None, None)
