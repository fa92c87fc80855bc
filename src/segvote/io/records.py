"""Validates JSON records: known names only, values of the declared types, paths that are valid paths."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from segvote.errors import DamagedFileError

CHECKSUM = "checksum"  # of a record, under this name in it

Kind = TypeVar("Kind")
MAX_WHOLE = 1 << 53  # beyond it JSON does not keep whole numbers
MAX_STEP, MAX_PATH = 255, 4095  # bytes, on every usual disk


def read_fields(kind: type[Kind], data: Any, where: object, old_names: Mapping[str, str] = {}) -> Kind:
    """Make a dataclass of what JSON gave: text, whole and finite numbers, truths and dictionaries, as it declares.

    `where` names the origin in errors; `old_names` are those that fields had in earlier versions, to those they have
    now.
    """
    if not isinstance(data, dict):
        raise DamagedFileError(f"{where}: expected an object, got {type(data).__name__}; restore the file")
    data = {old_names.get(name, name): value for name, value in data.items()}
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    needed = {name for name, field in known.items() if field.default is MISSING and field.default_factory is MISSING}
    if strange := sorted(set(data) - set(known)) + sorted(needed - set(data)):
        raise DamagedFileError(f"{where}: {strange[0]!r} is missing, or not known to this version; restore the file")
    for name, value in data.items():
        wanted = str(known[name].type).split("[")[0]
        if not _fits(value, wanted):
            raise DamagedFileError(f"{where}: expected {name!r} to be {wanted}, got {value!r:.60}; restore the file")
    return kind(**data)


def _fits(value: Any, wanted: str) -> bool:
    if wanted == "float":
        return type(value) in (int, float) and abs(value) <= sys.float_info.max
    if wanted == "int":
        return type(value) is int and abs(value) <= MAX_WHOLE
    return type(value).__name__ == wanted


def is_path_name(text: str) -> bool:
    """Whether a system could have a file of that path; others make its functions fail in ways of their own.

    Examples
    --------
    >>> is_path_name("photos/with/cow.jpg"), is_path_name("cow" * 100)
    (True, False)
    """
    try:
        path = os.fsencode(text)
    except UnicodeEncodeError:  # half a character
        return False
    return b"\0" not in path and len(path) <= MAX_PATH and all(len(step) <= MAX_STEP for step in path.split(b"/"))
