"""Files of Label Studio and labelme: brushes, mask crops and polygons.

Of a Label Studio task, the newest annotation counts. A file in which no task has an annotation (our own export, for
one) is read by its predictions; otherwise tasks without an annotation are left out, because they were not looked at.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct, field
from PIL import Image

from segvote.errors import BadInputError
from segvote.io.encodings.rle import decode_brush
from segvote.io.imports.base import clean_name, fill_polygons, join_shapes, read_schema
from segvote.io.tables import Finite, Size, Whole, read_json
from segvote.types import Annotation

Points = list[tuple[Finite, Finite]]
Byte = Annotated[int, Meta(ge=0, le=255)]
# Results that describe a shape or the image and are no shapes.
REMARKS = ("choices", "labels", "rating", "taxonomy", "textarea")


# Label Studio --------------------------------------------------------------------------------------------------------


class _Value(Struct):
    rle: list[Byte] | None = None
    points: Points | None = None  # percentages of the width and the height
    brushlabels: list[str] = []
    polygonlabels: list[str] = []
    labels: list[str] = []

    def find_label(self) -> str:
        return next((names[0] for names in (self.brushlabels, self.polygonlabels, self.labels) if names), "")


class _Result(Struct):
    type: str | None = None
    id: str | Whole | None = None
    value: _Value = field(default_factory=_Value)
    original_height: Size | None = None
    original_width: Size | None = None
    image_rotation: Finite | None = None
    score: Finite | None = None

    def is_shape(self, where: str) -> bool:
        """Whether it is a brush or a polygon; `BadInputError` for other shapes."""
        is_polygon = self.value.points is not None and str(self.type).startswith("polygon")
        if is_polygon or self.value.rle is not None:
            return True
        if self.type in REMARKS:
            return False
        raise BadInputError(f"{where}: a {self.type!r:.60} is no brush or polygon; delete it in Label Studio")


class _Annotation(Struct):
    result: list[_Result]
    was_cancelled: bool | None = False
    updated_at: str | None = None
    created_at: str | None = None


class _Task(Struct):
    data: dict[str, Any]
    id: Whole | str | None = None
    annotations: list[_Annotation | Whole] | None = None  # some exports list ids
    predictions: list[_Annotation | Whole] | None = None


def parse_label_studio(data: Any, where: str) -> Iterator[Annotation]:
    """Tasks of a Label Studio file (not "JSON-MIN"), parsed; `where` names it in errors.

    The name is the task's ``data.name`` (which our exports have) or else its image address, cleaned. An image without
    any result has the size 0 x 0 where the file has none.
    """
    tasks = read_schema(data, list[_Task], where)
    is_drawn = any(_list_drawn(task.annotations) for task in tasks)
    for number, task in enumerate(tasks, start=1):
        if drawn := _list_drawn(task.annotations if is_drawn else task.predictions):
            yield _read_task(task.data, drawn[-1], f"{where}, task {task.id or number}")


def _list_drawn(drawn: Sequence[_Annotation | int] | None) -> list[_Annotation]:
    """From the oldest to the newest, without those that were skipped."""
    kept = [one for one in drawn or () if isinstance(one, _Annotation) and not one.was_cancelled]
    return sorted(kept, key=lambda one: one.updated_at or one.created_at or "")


def _read_task(data: dict[str, Any], drawn: _Annotation, where: str) -> Annotation:
    shapes = [result for result in drawn.result if result.is_shape(where)]
    height, width = _read_size(shapes, data, where)
    labels = {one.id: label for one in drawn.result if (label := one.value.find_label())}
    parts = (
        (one.value.find_label() or labels.get(one.id, ""), _read_mask(one, height, width, where), one.score)
        for one in shapes
    )
    return join_shapes(_find_name(data, where), height, width, parts, where)


def _find_name(data: dict[str, Any], where: str) -> str:
    addresses = [data.get("name"), data.get("image"), *data.values()]
    texts = [address for address in addresses if isinstance(address, str) and address]
    if not texts:
        raise BadInputError(f"{where}: expected the image's address in 'data'; export from Label Studio as JSON")
    return clean_name(texts[0])


def _read_size(shapes: list[_Result], data: dict[str, Any], where: str) -> tuple[int, int]:
    sizes = {(shape.original_height, shape.original_width) for shape in shapes}
    if not shapes:
        sizes = {(data.get("height"), data.get("width"))}
    if len(sizes) > 1:
        raise BadInputError(f"{where}: shapes of one image have different sizes; export the task again")
    size = sizes.pop()
    return read_schema(size, tuple[Size, Size], where) if shapes or any(size) else (0, 0)


def _read_mask(shape: _Result, height: int, width: int, where: str) -> np.ndarray:
    if shape.image_rotation:
        raise BadInputError(f"{where}: the image was turned in Label Studio; turn it back and export again")
    if shape.value.rle is not None:
        return decode_brush(shape.value.rle, height, width)
    with np.errstate(over="ignore"):  # infinite points are refused by `fill_polygons`
        # Percentages of whole pixels do not come back whole; a millionth of a pixel is a rounding error.
        points = (np.array(shape.value.points).reshape(-1, 2) * [width / 100, height / 100]).round(6)
    return fill_polygons([points], height, width, where)


# labelme -------------------------------------------------------------------------------------------------------------


class _LabelmeShape(Struct):
    label: str
    points: Points
    shape_type: str | None = None
    mask: str | None = None
    score: Finite | None = None


class _LabelmeFile(Struct):
    height: Size = field(name="imageHeight")
    width: Size = field(name="imageWidth")
    shapes: list[_LabelmeShape]
    path: str = field(name="imagePath", default="")
    segvote_name: str = ""  # noted by our exports


def read_labelme(path: Path | str) -> Iterator[Annotation]:
    """Images of a labelme file, or of all ``*.json`` below a folder in the order of their names.

    An image is called as in the run where our export has noted that; else by its path in the file, cleaned by
    `clean_name`; in a folder of files by the folder of the file and the name of the image.
    """
    path = Path(path)
    if not path.is_dir():
        yield _read_labelme_file(path, Path())
        return
    for file in sorted(path.rglob("*.json"), key=lambda file: file.relative_to(path).as_posix()):
        yield _read_labelme_file(file, file.relative_to(path).parent)


def _read_labelme_file(path: Path, folder: Path) -> Annotation:
    where = str(path)
    file = read_schema(read_json(path), _LabelmeFile, where)
    name = clean_name(file.segvote_name or file.path)
    if folder.parts and not file.segvote_name:
        name = (folder / Path(name).name).as_posix()
    shapes = ((one.label, _read_shape(one, file.height, file.width, where), one.score) for one in file.shapes)
    return join_shapes(name, file.height, file.width, shapes, where)


def _read_shape(shape: _LabelmeShape, height: int, width: int, where: str) -> np.ndarray:
    kind = shape.shape_type or "polygon"
    if kind == "mask":
        return _read_crop(shape, height, width, where)
    if kind == "polygon":
        return fill_polygons([shape.points], height, width, where)
    raise BadInputError(f"{where}: a {kind!r:.60} is no mask or polygon; delete it or draw its outline")


def _read_crop(shape: _LabelmeShape, height: int, width: int, where: str) -> np.ndarray:
    try:
        (left, top), (right, bottom) = ((int(x), int(y)) for x, y in shape.points)
        if not (0 <= left <= right < width and 0 <= top <= bottom < height):
            raise ValueError("it reaches over the image's edge")
        data = io.BytesIO(base64.b64decode(shape.mask or "", validate=True))
        with Image.open(data, formats=("PNG",)) as picture:
            if picture.size != (right - left + 1, bottom - top + 1):  # before decoding: the header has the size
                raise ValueError(f"it has {picture.size} pixels, which is not the distance of its corners")
            crop = np.array(picture.convert("L") if picture.mode != "1" else picture) > 0
    except (ValueError, OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise BadInputError(f"{where}: a mask must be a PNG between two corners ({error}); export it again") from error
    mask = np.zeros((height, width), bool)
    mask[top : bottom + 1, left : right + 1] = crop
    return mask
