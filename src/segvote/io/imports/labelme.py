"""labelme files: mask crops and polygons, one file or a folder of them."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from segvote.errors import BadInputError
from segvote.io.imports.base import PartJoiner, check_size, clean_name, fill_polygons, need, read_score
from segvote.io.tables import read_json
from segvote.types import Annotation


def read_labelme(path: Path | str) -> Iterator[Annotation]:
    """Images of a labelme file, or of all ``*.json`` below a folder in the order of their names.

    Their names are those our exports note down; else the image's path as the file gives it, without anything that leads
    outside a folder; in a folder of files the folder of the file and the name of the image.
    """
    path = Path(path)
    if not path.is_dir():
        yield parse_labelme(read_json(path), str(path))
        return
    for file in sorted(path.rglob("*.json"), key=lambda file: file.relative_to(path).as_posix()):
        yield parse_labelme(read_json(file), str(file), file.relative_to(path).parent)


def parse_labelme(data: Any, where: str, folder: Path = Path()) -> Annotation:
    """The same from parsed JSON; `where` names its origin in errors, `folder` is its place among the files."""
    height, width = check_size(need(data, "imageHeight", int, where), need(data, "imageWidth", int, where), where)
    name = clean_name(data.get("segvote_name") or need(data, "imagePath", str, where))
    if folder.parts and "segvote_name" not in data:
        name = (folder / Path(name).name).as_posix()
    joiner = PartJoiner(height, width, where)
    for shape in need(data, "shapes", list, where):
        label = need(shape, "label", str, where)
        joiner.add(label, _read_shape(shape, height, width, where), read_score(shape.get("score"), where))
    return Annotation(name, height, width, joiner.join())


def _read_shape(shape: Any, height: int, width: int, where: str) -> np.ndarray:
    points = need(shape, "points", list, where)
    kind = shape.get("shape_type") or "polygon"
    if kind == "mask":
        return _read_crop(need(shape, "mask", str, where), points, height, width, where)
    if kind == "polygon":
        return fill_polygons([points], height, width, where)
    raise BadInputError(f"{where}: a {kind!r} is no mask or polygon; delete it or draw its outline")


def _read_crop(text: str, points: list[Any], height: int, width: int, where: str) -> np.ndarray:
    try:
        (left, top), (right, bottom) = ((int(x), int(y)) for x, y in points)
        if not (0 <= left <= right < width and 0 <= top <= bottom < height):
            raise ValueError("it reaches over the image's edge")
        with Image.open(io.BytesIO(base64.b64decode(text, validate=True)), formats=("PNG",)) as picture:
            crop = _decode_crop(picture, (right - left + 1, bottom - top + 1))
    except (ValueError, TypeError, OverflowError, OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise BadInputError(f"{where}: a mask must be a PNG between two corners ({error}); export it again") from error
    mask = np.zeros((height, width), bool)
    mask[top : bottom + 1, left : right + 1] = crop
    return mask


def _decode_crop(picture: Image.Image, size: tuple[int, int]) -> np.ndarray:
    if picture.size != size:  # before decoding: the size is known from the header
        raise ValueError(f"it has {picture.size} pixels between corners {size} apart")
    return np.array(picture.convert("L") if picture.mode != "1" else picture) > 0
