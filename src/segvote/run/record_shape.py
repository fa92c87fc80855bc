"""Schema of `run.json`, validated on reading: run folders may come from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from segvote.errors import DamagedFileError

PROBLEMS = [{"name": str, "reason": str}]
RUN_RECORD: dict[str, Any] = {
    "segvote": str,
    "versions": (str,),
    "inputs": dict,
    "settings": dict,
    "key": str,
    "complete": bool,
    "bags": [dict],
    "problems": PROBLEMS,
    "search?": dict,
    "drawing?": {"way": str, "reason": str},
    "confidence?": dict,
    "extent?": int,
    "pending?": dict,
}
CLASS_RECORD: dict[str, Any] = {
    "segvote": str,
    "versions": (str,),
    "input": str,
    "complete": bool,
    "classes": [str],
    "images": [dict],
    "settings?": dict,
    "problems?": PROBLEMS,
}


def check_shape(data: Any, shape: Any, path: Path, place: str = "it") -> None:
    """Refuse JSON that has not the shape of a record; `place` in the file is named in the error.

    A shape is a type; ``[shape]``, a list of such; ``(shape,)``, an object with such values; or names and shapes of an
    object's fields, those that may be missing with a question mark. Others may be there.
    """
    _check_kind(data, shape, path, place)
    if isinstance(shape, list):
        for number, entry in enumerate(data):
            check_shape(entry, shape[0], path, f"{place}[{number}]")
    elif isinstance(shape, tuple):
        for name, value in data.items():
            check_shape(value, shape[0], path, f"{name!r:.40}")
    elif isinstance(shape, dict):
        for name, inner in shape.items():
            if name.rstrip("?") in data or not name.endswith("?"):
                check_shape(data.get(name.rstrip("?")), inner, path, f"{name.rstrip('?')!r}")


def _check_kind(data: Any, shape: Any, path: Path, place: str) -> None:
    kind = shape if isinstance(shape, type) else list if isinstance(shape, list) else dict
    if not isinstance(data, kind):
        raise DamagedFileError(
            f"{path}: expected {place} to be {kind.__name__}, got {type(data).__name__}; restore the file, "
            "or annotate again"
        )
