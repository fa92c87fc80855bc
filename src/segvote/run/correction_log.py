"""The correction log: an append-only table in SQLite, one transaction per action.

Rows are never changed or deleted: undo is one more row. A row is on the disk before `append` returns, so a process
killed at any moment loses no action that was answered; several processes may append to the same log. A damaged row is
read as an action of kind *lost*, which changes nothing and keeps its place for undo; the others stay usable.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import force_setattr, replace

from segvote.errors import BadInputError, BusyRunError, DamagedFileError
from segvote.io.names import encode_name
from segvote.io.tables import Count, convert_record
from segvote.run.log_file import (
    FORMAT,
    SCHEMA,
    WAIT_SECONDS,
    check_format,
    check_log_file,
    connect,
    explain_failure,
    identify,
    read_last,
)

# Kinds of actions; `undo` and `redo` concern the last of the others. A damaged or missing row is read as `lost`.
KINDS = (
    "accept",
    "adopt",
    "alternative",
    "audit",
    "cut",
    "extent",
    "join",
    "lost",
    "move",
    "paint",
    "redo",
    "set",
    "undo",
)
# Lowest and highest value of a kind; 0 and 1 of the others.
VALUES = {"alternative": (0, 25), "extent": (1, 9), "paint": (-1, 1), "set": (-1, 1)}


class Action(Struct, frozen=True):
    """One action of the user: a row of the log, by its columns.

    Attributes
    ----------
    kind
        One of `KINDS`.
    image, name
        SHA-256 of the image's content, by which it is found again; its name at the time, for people.
    value
        *set* and *paint*: 1 object, 0 background, -1 undecided; *accept*: 1 accepted, 0 not; *move*: 1 *with*,
        0 *without*; *audit*: 1, the image was drawn at random to be finished; *extent*: the extent, of all images where
        `image` is empty; *alternative*: its number, 0 the vote.
    height, width, counts
        *set* and *paint*: the pixels, as packed COCO run lengths on a grid of that size laid over the displayed
        image. Those of *set* are segments, and label any segments that lie there; those of *paint* are exact.
        *adopt*: `counts` is the SHA-256 of an earlier content, whose actions are read as those of `image`.
        *accept*: the mask that was accepted; none for a video, or in the *without* folder. *cut*: the line that divides
        instances; *join*: the pixels of the instances that are one.
    number
        Place in the log, from 1; 0 before it is written.
    batch
        Actions with the same number other than 0 were written together, and are undone together.
    frame
        *set* on a video: number of the frame in the source; -1: its poster, or an image.
    """

    kind: str
    image: str = ""
    name: str = ""
    value: int = 0
    height: Count = 0
    width: Count = 0
    counts: str = ""
    number: int = 0
    batch: Count = 0
    frame: Annotated[int, Meta(ge=-1)] = -1

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadInputError(f"expected an action of kind {', '.join(KINDS)}; got {self.kind!r}")
        lowest, highest = VALUES.get(self.kind, (0, 1))
        if not lowest <= self.value <= highest:
            raise BadInputError(f"expected a value from {lowest} to {highest} for {self.kind!r}; got {self.value}")
        force_setattr(self, "name", encode_name(self.name))  # text of SQLite is UTF-8


CONTENT = ("kind", "image", "name", "value", "height", "width", "counts", "batch", "frame")
COLUMNS = (*CONTENT, "number", "checksum")


class CorrectionLog:
    """The log, opened for appending and made where it is missing; safe to use from several threads.

    An action waits at most `patience` seconds for another process or thread that writes to the log.
    """

    def __init__(self, path: Path | str, patience: float = WAIT_SECONDS) -> None:
        self.path, self.patience = Path(path), patience
        # Reading never waits for writing: each has its own connection.
        self._writing, self._reading = threading.Lock(), threading.Lock()
        check_log_file(self.path)
        with explain_failure(self.path), contextlib.ExitStack() as opened:
            self._writer = opened.enter_context(contextlib.closing(connect(self.path, patience)))
            # No write-ahead log: it shares memory between processes, which network file systems cannot.
            self._writer.execute("PRAGMA journal_mode=DELETE")
            # EXTRA: a commit waits for the disk, so that "saved" is true even if the power fails.
            self._writer.execute("PRAGMA synchronous=EXTRA")
            check_format(self._writer, self.path)
            self._writer.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
            self._writer.execute(f"PRAGMA user_version={FORMAT}")
            self._reader = connect(self.path, patience)
            opened.pop_all()  # closed here only where the file was rejected
        # The open connections keep these numbers from being given to another file.
        self._identity = identify(self.path)

    def check_in_place(self) -> None:
        """Raise where the file or its folder was deleted, moved or replaced: SQLite would write to the deleted file."""
        if self._identity != identify(self.path):
            raise BusyRunError(
                f"{self.path.parent} was deleted, moved or replaced while it was open; this action was not saved: "
                "put the folder back and repeat it, or start again on the new one"
            )

    def append(self, *actions: Action, expected: int | None = None) -> int:
        """Write actions that belong together in one transaction; returns the number of the last.

        `BusyRunError`, and nothing written, where the number of the last action in the log is not `expected`.
        """
        if not self._writing.acquire(timeout=self.patience):
            raise BusyRunError(f"{self.path} is in use; this action was not saved, repeat it in a moment")
        try:
            self.check_in_place()
            with explain_failure(self.path, saving=True):
                number = self._write(actions, expected)
            self.check_in_place()
            return number
        finally:
            self._writing.release()

    def _write(self, actions: Sequence[Action], expected: int | None) -> int:
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            last = read_last(self._writer)
            if expected not in (None, last):
                raise BusyRunError(
                    f"another page went on meanwhile (action {last}, not {expected}); look again, then repeat"
                )
            batch = last + 1 if len(actions) > 1 else 0
            rows = [_make_row(replace(action, batch=batch)) for action in actions]
            columns = f"time, {', '.join(CONTENT)}, checksum"
            self._writer.executemany(f"INSERT INTO actions ({columns}) VALUES ({', '.join('?' * len(COLUMNS))})", rows)
            number = read_last(self._writer)
            self._writer.execute("COMMIT")
        except BaseException:
            # On a full disk SQLite has rolled back by itself.
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            raise
        return number

    def read(self, after: int = 0) -> list[Action]:
        """The actions with a number above `after`, the oldest first; rows never change, so the others are known."""
        with self._reading, explain_failure(self.path):
            return _select(self._reader, after)

    def read_last(self) -> int:
        """Number of the last action; 0 in an empty log. Quick: tells whether another process wrote to the log."""
        with self._reading, explain_failure(self.path):
            return read_last(self._reader)

    def close(self) -> None:
        with self._writing, self._reading:
            self._writer.close()
            self._reader.close()


def read_actions(path: Path | str) -> list[Action]:
    """All actions of a log that may not exist."""
    path = Path(path)
    if not path.exists() and not _is_listed(path):
        return []
    check_log_file(path)
    with explain_failure(path), contextlib.closing(connect(path, WAIT_SECONDS)) as connection:
        check_format(connection, path)
        return _select(connection)


def _is_listed(path: Path) -> bool:
    """Whether the folder lists the file: a network file system may answer a look at a new name from its cache."""
    try:
        return path.name in os.listdir(path.parent)
    except OSError:
        return False


def _select(connection: sqlite3.Connection, after: int = 0) -> list[Action]:
    """The actions after a number; `lost` where one is not as it was written: SQLite does not notice a turned bit."""
    if not connection.execute("PRAGMA table_info(actions)").fetchall():
        return []  # a process was killed while it made the file
    query = f"SELECT {', '.join(COLUMNS)} FROM actions WHERE number > ? ORDER BY number"
    actions = list(_read_rows(connection.execute(query, (after,)).fetchall(), after))
    adopted = _read_adopted(connection)
    return [replace(one, image=adopted[one.image]) if one.image in adopted else one for one in actions]


def _read_adopted(connection: sqlite3.Connection) -> dict[str, str]:
    """Digest of an earlier content to that of the picture that adopted its actions; see `segvote.pipeline.adopt`."""
    query = f"SELECT {', '.join(COLUMNS)} FROM actions WHERE kind = 'adopt' ORDER BY number"
    adopted: dict[str, str] = {}
    for row in connection.execute(query).fetchall():
        action = _read_row(row, row[-2])
        if action.kind == "adopt":
            adopted = {one: action.image if other == action.counts else other for one, other in adopted.items()}
            adopted |= {action.counts: action.image, action.image: action.image}
    return adopted


def _read_rows(rows: Sequence[tuple], after: int) -> Iterator[Action]:
    """One action for each row, and one for each gap in their numbers, which otherwise go on from `after`."""
    numbers = [row[-2] for row in rows]
    for place, (row, number) in enumerate(zip(rows, numbers, strict=True)):
        expected = after + 1
        # The following row tells a gap from a damaged number.
        if number > expected and numbers[place + 1 : place + 2] in ([], [number + 1]):
            yield Action("lost", number=number - 1)
            expected = number
        yield _read_row(row, expected)
        after = expected


def _read_row(row: tuple, number: int) -> Action:
    values = dict(zip(COLUMNS, row[:-1], strict=False))
    try:
        action: Action = convert_record(values, Action, "")
    except (DamagedFileError, BadInputError):
        return _replace_lost(values, number)
    return action if action.number == number and row[-1] == _sum(action) else _replace_lost(values, number)


def _replace_lost(values: dict[str, Any], number: int) -> Action:
    """The action in the place of a damaged one; an undo stays one, so that what it took back does not return."""
    kind, batch = values["kind"], values["batch"]
    is_batch = isinstance(batch, int) and 0 <= batch <= number
    return Action(kind if kind in ("undo", "redo") else "lost", number=number, batch=batch if is_batch else 0)


def _make_row(action: Action) -> tuple:
    return (time.time(), *(getattr(action, column) for column in CONTENT), _sum(action))


def _sum(action: Action) -> str:
    """Checksum of the content of an action; eight hexadecimal digits."""
    return f"{zlib.crc32(repr([getattr(action, column) for column in CONTENT]).encode()):08x}"
