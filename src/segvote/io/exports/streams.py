"""JSON files written record by record, so that their length does not matter."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from segvote.io.atomic import atomic_path


class RecordFile:
    """A JSON file that begins with a list of records; `tail` holds the other keys, written when the file is closed."""

    def __init__(self, file: TextIO, key: str | None) -> None:
        self.tail: dict[str, Any] = {}
        self._file, self._key = file, key
        self._n_records = 0
        file.write("[" if key is None else f"{{{_format(key)}: [")

    def add(self, record: Any) -> None:
        """Write one more record, on a line of its own."""
        self._file.write((",\n" if self._n_records else "\n") + _format(record))
        self._n_records += 1

    def close(self) -> None:
        """Write the rest: the other keys, sorted."""
        rest = [f",\n{_format(key)}: {_format(self.tail[key])}" for key in sorted(self.tail)]
        self._file.write("\n]" + "".join(rest) + ("\n" if self._key is None else "}\n"))


@contextlib.contextmanager
def open_records(path: Path, key: str | None = None) -> Iterator[RecordFile]:
    """Open a list of records for writing, whole or not at all.

    `key` is that under which the list stands; None if the list is the whole file.
    """
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        records = RecordFile(file, key)
        yield records
        records.close()


def _format(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)
