"""Small tables and records as CSV and JSON: the same content always gives the same bytes.

Keys are sorted, line ends are one newline, floats are written with as many digits as they need to come back equal, and
NaN and infinity are refused, because JSON cannot hold them. Records are untrusted: each has a declared schema, a
`msgspec.Struct`, and `convert_record` validates parsed JSON against it.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import msgspec
import numpy as np

from segvote.errors import BadInputError, DamagedFileError, SegvoteError
from segvote.io.files import open_regular, write_text

MAX_BYTES = 1 << 30
MAX_MESSAGE = 300  # characters of a validation error, which quotes the file

# Numbers of a schema: Python's JSON parser accepts any.
MAX_WHOLE = 1 << 53  # JSON does not keep larger whole numbers
Whole = Annotated[int, msgspec.Meta(ge=-MAX_WHOLE, le=MAX_WHOLE)]
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_WHOLE)]
Size = Annotated[int, msgspec.Meta(ge=1, le=MAX_WHOLE)]
Finite = Annotated[float, msgspec.Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
_FORMULA = ("=", "+", "-", "@", "\t")  # a cell of a spreadsheet that begins so is executed
_BOUNDED: dict[Any, Any] = {int: Whole, float: Finite}

Kind = TypeVar("Kind")


def format_json(data: Any, indent: int | None = 2) -> str:
    """Text of `data` with sorted keys; numpy scalars and arrays become numbers and lists, paths become text."""
    try:
        return json.dumps(data, sort_keys=True, indent=indent, allow_nan=False, default=_simplify) + "\n"
    except ValueError as error:
        raise BadInputError(f"JSON holds finite numbers only ({error}); write None for a missing value") from error


def write_json(path: Path | str, data: Any, indent: int | None = 2) -> None:
    """Write `data` as JSON, whole or not at all; see `format_json`."""
    write_text(path, format_json(data, indent))


def read_json(path: Path | str) -> Any:
    """Content of a JSON file of at most `MAX_BYTES`; `DamagedFileError` names the place where it is not JSON."""
    text = _read_text(Path(path))
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{path}: expected JSON, but {error}; restore or delete the file") from error


def convert_record(
    data: Any,
    kind: type[Kind],
    where: object,
    error: type[SegvoteError] = DamagedFileError,
    advice: str = "restore the file, or annotate again",
    strict: bool = True,
) -> Kind:
    """Validate parsed JSON against a schema: a `msgspec.Struct`, a dataclass of plain values, or a type of msgspec.

    Data that do not fit raise `error` with their origin `where` and, at the end, `advice`. With `strict` False, numbers
    may be given as text.
    """
    try:
        if hasattr(kind, "__dataclass_fields__"):
            return kind(**msgspec.structs.asdict(msgspec.convert(data, _make_schema(kind))))  # type: ignore[arg-type]
        return msgspec.convert(data, kind, strict=strict)
    except (msgspec.ValidationError, RecursionError, UnicodeEncodeError) as cause:  # the last for half a character
        message = " ".join(str(cause).split()).replace(" - at `$", " at `")
        raise error(f"{where}: {message[:1].lower()}{message[1:MAX_MESSAGE]}; {advice}") from cause


@cache
def _make_schema(kind: Any) -> type[msgspec.Struct]:
    """Schema of a dataclass: its fields, numbers bounded, and no others."""
    types = get_type_hints(kind)
    columns: list[Any] = []
    for one in fields(kind):
        default = {} if one.default is MISSING else {"default": one.default}
        if one.default_factory is not MISSING:
            default = {"default_factory": one.default_factory}
        columns.append((one.name, _BOUNDED.get(types[one.name], types[one.name]), msgspec.field(**default)))
    return msgspec.defstruct(kind.__name__, columns, forbid_unknown_fields=True)


def write_csv(path: Path | str, rows: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> None:
    """Write a table with a header line, whole or not at all; a missing or None value is an empty cell.

    Text that a spreadsheet would execute as a formula, such as a file name ``=1+1.png``, has an apostrophe before it.
    """
    columns = list(columns)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_format_cell(row.get(column)) for column in columns] for row in rows)
    write_text(path, buffer.getvalue())


def _read_text(path: Path) -> str:
    try:
        with open_regular(path) as file:
            if (n_bytes := os.fstat(file.fileno()).st_size) > MAX_BYTES:
                raise BadInputError(f"{path}: expected at most {MAX_BYTES} bytes, got {n_bytes}; split the file")
            return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DamagedFileError(f"{path}: expected UTF-8 text ({error.reason}); save it as UTF-8") from error
    except OSError as error:
        raise BadInputError(f"{path}: cannot be read ({error.strerror}); check the name") from error


def _simplify(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value, enc_hook=_simplify)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Path):
        return value.as_posix()
    raise BadInputError(f"JSON cannot hold a {type(value).__name__}; give numbers, text, lists and dictionaries")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"it holds {name}")


def _format_cell(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise BadInputError(f"a table holds finite numbers only, got {value}; write None for a missing value")
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value
