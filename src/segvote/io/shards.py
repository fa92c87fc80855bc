"""Rows of results in files of many rows each, shards: JSON lines, or Parquet with the extra ``parquet``."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from segvote.errors import DamagedFileError, MissingPartError
from segvote.io.files import open_regular, write_bytes
from segvote.io.tables import format_json
from segvote.registry import check_known

JSON_LINES, PARQUET = "jsonl", "parquet"
Rows = list[dict[str, Any]]
# Fields that hold lists or records; Parquet has them as JSON text.
NESTED = ("objects", "record")


class ShardFormat(NamedTuple):
    """How rows become bytes and back."""

    encode: Callable[[Sequence[dict[str, Any]]], bytes]
    decode: Callable[[bytes], Rows]


def write_shard(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows with the same fields, whole or not at all; the extension is a name of `SHARDS`."""
    write_bytes(path, SHARDS[path.suffix[1:]].encode(rows))


def read_shard(path: Path) -> Rows:
    """The rows of a shard."""
    try:
        with open_regular(path) as file:
            return SHARDS[path.suffix[1:]].decode(file.read())
    except (OSError, ValueError, TypeError) as error:
        raise DamagedFileError(f"{path} cannot be read ({error}); delete it and repeat the command") from error


def check_shards(name: str) -> str:
    """Refuse an unknown format, or one whose package is missing, before any work; returns the name."""
    check_known(name, SHARDS, "format of shards")
    if name == PARQUET:
        _import_parquet()
    return name


def _encode_lines(rows: Sequence[dict[str, Any]]) -> bytes:
    return "".join(format_json(row, indent=None) for row in rows).encode()


def _decode_lines(data: bytes) -> Rows:
    return [json.loads(line) for line in data.decode().splitlines()]


def _encode_parquet(rows: Sequence[dict[str, Any]]) -> bytes:
    pyarrow, parquet = _import_parquet()
    flat = [{name: _flatten(value) if name in NESTED else value for name, value in row.items()} for row in rows]
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(flat), buffer)
    return buffer.getvalue()


def _flatten(value: Any) -> str:
    return format_json(value, indent=None)


def _decode_parquet(data: bytes) -> Rows:
    _, parquet = _import_parquet()
    rows: Rows = parquet.read_table(io.BytesIO(data)).to_pylist()
    return [{name: json.loads(value) if name in NESTED else value for name, value in row.items()} for row in rows]


def _import_parquet() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingPartError(
            "shards of Parquet need pyarrow; install it: pip install 'segvote[parquet]', or take jsonl"
        ) from error
    return pyarrow, parquet


SHARDS = {
    JSON_LINES: ShardFormat(_encode_lines, _decode_lines),
    PARQUET: ShardFormat(_encode_parquet, _decode_parquet),
}
