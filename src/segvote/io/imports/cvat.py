"""CVAT for images 1.1: masks and polygons of ``annotations.xml``, read image by image.

Untrusted XML can grow without bound or name other files through its document type; CVAT writes none, so a file that
begins with one is refused. The parser itself limits how much entities may expand, and opens nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element, ParseError, iterparse

import numpy as np
from msgspec import Struct

from segvote.errors import BadInputError, SegvoteError
from segvote.io.encodings.rle import fill_runs
from segvote.io.files import open_regular
from segvote.io.imports.base import clean_name, fill_polygons, join_shapes, read_schema
from segvote.io.tables import Count, Finite, Size
from segvote.types import Annotation

_REFUSED = {"box", "cuboid", "ellipse", "points", "polyline", "skeleton"}


class _Image(Struct):
    name: str
    height: Size
    width: Size


class _Mask(Struct):
    left: Count
    top: Count
    width: Size
    height: Size
    rle: str  # lengths of runs along the rows of the crop, the first one background


def read_cvat_xml(path: Path | str) -> Iterator[Annotation]:
    """Images of a "CVAT for images 1.1" file in their order, those without annotation too."""
    try:
        with open_regular(path) as file:
            if b"<!DOCTYPE" in file.peek():
                raise BadInputError(f"{path}: expected plain XML, got a document type (DOCTYPE); export the file again")
            yield from _parse(file, str(path))
    except SegvoteError:
        raise
    except (ParseError, LookupError, ValueError) as error:  # the latter two for unknown encodings
        raise BadInputError(f"{path}: expected XML, but {error}; export the file again") from error
    except OSError as error:
        raise BadInputError(f"{path}: cannot be read ({error.strerror}); check the name") from error


def _parse(file: BinaryIO, where: str) -> Iterator[Annotation]:
    tag = ""
    for _, element in iterparse(file):
        tag = element.tag
        if tag == "image":
            yield _read_image(element, where)
            element.clear()
        elif tag == "track":
            raise BadInputError(f"{where}: a <track> is no mask; export 'CVAT for images' with masks or polygons")
    if tag != "annotations":  # the root ends last
        raise BadInputError(f"{where}: expected <annotations>; export it as 'CVAT for images 1.1'")


def _read_image(element: Element, where: str) -> Annotation:
    where = f"{where}, {element.get('name')}"
    image = _read(element.attrib, _Image, where)
    return join_shapes(clean_name(image.name), image.height, image.width, _read_shapes(element, image, where), where)


def _read_shapes(element: Element, image: _Image, where: str) -> Iterator[tuple[str, np.ndarray, float | None]]:
    for shape in element:
        if shape.tag in _REFUSED:
            raise BadInputError(f"{where}: a <{shape.tag}> is no mask; export the file with masks or polygons")
        if shape.tag in ("mask", "polygon"):
            mask = (_read_mask if shape.tag == "mask" else _read_polygon)(shape, image.height, image.width, where)
            text = (shape.findtext("attribute[@name='score']") or "").strip()
            yield shape.get("label", ""), mask, _read(text, Finite, where) if text else None


def _read_mask(shape: Element, height: int, width: int, where: str) -> np.ndarray:
    crop = _read(shape.attrib, _Mask, where)
    if crop.left + crop.width > width or crop.top + crop.height > height:
        raise BadInputError(f"{where}: a mask reaches over the image's edge; export the file again")
    counts = _read([count.strip() for count in crop.rle.split(",")], list[Count], f"{where}, rle of a mask")
    mask = np.zeros((height, width), bool)
    rows, columns = slice(crop.top, crop.top + crop.height), slice(crop.left, crop.left + crop.width)
    mask[rows, columns] = fill_runs(counts, crop.height * crop.width).reshape(crop.height, crop.width)
    return mask


def _read_polygon(shape: Element, height: int, width: int, where: str) -> np.ndarray:
    pairs = [pair.split(",") for pair in shape.get("points", "").split(";")]
    points = _read(pairs, list[tuple[Finite, Finite]], f"{where}, points of a polygon")
    return fill_polygons([points], height, width, where)


def _read(texts: Any, kind: Any, where: str) -> Any:
    """Attributes and parts of them, which are texts, as values of a schema."""
    return read_schema(texts, kind, where, strict=False)
