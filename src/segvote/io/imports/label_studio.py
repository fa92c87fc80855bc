"""Label Studio's JSON: brushes and polygons of each task's newest annotation.

A file in which no task has an annotation (our own export, for one) is read by its predictions. Otherwise tasks without
an annotation are left out: they were not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from segvote.errors import BadInputError
from segvote.io.encodings.brush import decode_brush
from segvote.io.imports.base import PartJoiner, check_size, clean_name, fill_polygons, need, read_score
from segvote.types import Annotation


def parse_label_studio(tasks: Any, where: str) -> Iterator[Annotation]:
    """Tasks of a Label Studio file (not "JSON-MIN"), parsed; `where` names it in errors.

    The name is the task's ``data.name`` (which our exports have) or else its image address, cleaned. An image without
    any result has the size 0 x 0 if the file does not tell it.
    """
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise BadInputError(f"{where}: expected a list of tasks; export from Label Studio as JSON")
    key = "annotations" if any(_list_drawn(task, "annotations") for task in tasks) else "predictions"
    for number, task in enumerate(tasks, start=1):
        if drawn := _list_drawn(task, key):
            yield _read_task(task, drawn[-1], f"{where}, task {task.get('id', number)}")


def _list_drawn(task: dict[str, Any], key: str) -> list[Any]:
    """Annotations from the oldest to the newest, without those that were skipped."""
    drawn = task.get(key) or []
    if not isinstance(drawn, list):
        raise BadInputError(
            f"expected {key} to be a list, got {type(drawn).__name__}; export from Label Studio as JSON"
        )
    kept = [one for one in drawn if isinstance(one, dict) and not one.get("was_cancelled")]
    return sorted(kept, key=lambda one: str(one.get("updated_at") or one.get("created_at") or ""))


def _read_task(task: dict[str, Any], drawn: dict[str, Any], where: str) -> Annotation:
    data = need(task, "data", dict, where)
    results = need(drawn, "result", list, where)
    shapes = [result for result in results if isinstance(result, dict) and _is_shape(result, where)]
    height, width = _read_size(shapes, data, where)
    labels = {str(result.get("id")): label for result in results if (label := _find_label(result))}
    joiner = PartJoiner(height, width, where)
    for shape in shapes:
        label = _find_label(shape) or labels.get(str(shape.get("id")), "")
        joiner.add(label, _read_mask(shape, height, width, where), read_score(shape.get("score"), where))
    return Annotation(_find_name(data, where), height, width, joiner.join())


def _find_name(data: dict[str, Any], where: str) -> str:
    addresses = [data.get("name"), data.get("image"), *data.values()]
    texts = [address for address in addresses if isinstance(address, str) and address]
    if not texts:
        raise BadInputError(f"{where}: expected the image's address in 'data'; export from Label Studio as JSON")
    return clean_name(texts[0])


def _is_shape(result: dict[str, Any], where: str) -> bool:
    kind, value = result.get("type"), result.get("value")
    if isinstance(value, dict) and ("rle" in value or ("points" in value and str(kind).startswith("polygon"))):
        return True
    if kind in ("labels", "choices", "rating", "textarea", "taxonomy"):  # say something about a shape or the image
        return False
    raise BadInputError(f"{where}: a {kind!r} is no brush or polygon; delete it in Label Studio")


def _find_label(result: Any) -> str:
    value = result.get("value") if isinstance(result, dict) else None
    if not isinstance(value, dict):
        return ""
    for key in ("brushlabels", "polygonlabels", "labels"):
        if isinstance(value.get(key), list) and value[key]:
            return str(value[key][0])
    return ""


def _read_size(shapes: list[dict[str, Any]], data: dict[str, Any], where: str) -> tuple[int, int]:
    if not shapes and "height" not in data:
        return 0, 0
    if not shapes:
        return check_size(data["height"], data.get("width"), where)
    sizes = {check_size(shape.get("original_height"), shape.get("original_width"), where) for shape in shapes}
    if len(sizes) > 1:
        raise BadInputError(f"{where}: shapes of one image have different sizes; export the task again")
    return sizes.pop()


def _read_mask(shape: dict[str, Any], height: int, width: int, where: str) -> np.ndarray:
    if shape.get("image_rotation"):
        raise BadInputError(f"{where}: the image was turned in Label Studio; turn it back and export again")
    value = shape["value"]
    if "rle" in value:
        return decode_brush(value["rle"], height, width)
    return _read_polygon(value, height, width, where)


def _read_polygon(value: dict[str, Any], height: int, width: int, where: str) -> np.ndarray:
    try:
        percent = np.array(value["points"], dtype=np.float64).reshape(-1, 2)
    except (TypeError, ValueError) as error:
        raise BadInputError(f"{where}: a polygon must be pairs of numbers ({error}); export the task again") from error
    with np.errstate(over="ignore"):  # what grows beyond all bounds is refused when it is filled
        # Percentages of whole pixels do not come back whole; a millionth of a pixel is a rounding error.
        points = (percent * [width / 100, height / 100]).round(6)
    return fill_polygons([points], height, width, where)
