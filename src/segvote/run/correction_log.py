"""A user's corrections on disk: an append-only log in SQLite, one transaction per action.

Nothing is ever changed or deleted: undo is one more row. A row is on the disk before `append` returns, so that a
process killed at any moment loses nothing that was answered; several processes may append to the same log. A log that
was deleted or replaced while it is open refuses actions, see `rescue_log`.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import force_setattr, replace

from segvote.errors import (
    BadInputError,
    BusyRunError,
    DamagedFileError,
    ReplacedFolderError,
)
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
    is_begun,
    read_last,
)

# What a user can do; `undo` and `redo` concern the last of the others.
KINDS = ("cut", "extent", "join", "look", "move", "paint", "redo", "set", "undo")
# Lowest and highest value of a kind; 0 and 1 of the others.
VALUES = {"extent": (1, 9), "paint": (-1, 1), "set": (-1, 1)}


class Action(Struct, frozen=True):
    """One action of the user: a row of the log, by its columns.

    Attributes
    ----------
    kind
        One of `KINDS`.
    image, name
        SHA-256 of the image's content, by which it is found again; its name at the time, for people.
    value
        *set* and *paint*: 1 object, 0 background, -1 undecided; *look*: 1 accepted, 0 not; *move*: 1 *with*,
        0 *without*; *extent*: the level, of all images where `image` is empty.
    height, width, counts
        *set* and *paint*: the pixels, as packed COCO run lengths on a grid of that size laid over the displayed
        image. Those of *set* are segments and stand for whatever segments lie there; those of *paint* are exact.
        *cut*: the line that divides instances; *join*: the pixels of instances that are one.
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


CONTENT = ("kind", "image", "name", "value", "height", "width", "counts")
COLUMNS = (*CONTENT, "number", "batch", "frame", "checksum")


class CorrectionLog:
    """The log, opened for appending; safe to use from several threads.

    Parameters
    ----------
    path
        ``review.sqlite`` of a run folder; made when it is missing.
    patience
        Seconds that an action waits for another process, or another thread, that writes to the log.
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
            opened.pop_all()  # closed here only where the file was refused
        # The open connections keep these numbers from being given to another file.
        self._identity = identify(self.path)
        self._seen: list[Action] = []  # what was read last

    def is_in_place(self) -> bool:
        """Whether the path still leads to the file that was opened: SQLite goes on writing to a deleted one."""
        return self._identity == identify(self.path)

    def check_in_place(self) -> None:
        """Raise `ReplacedFolderError` where the file, or its folder, was deleted, moved or replaced."""
        if not self.is_in_place():
            raise ReplacedFolderError(
                f"{self.path.parent} was deleted, moved or replaced while it was open; nothing more is saved: "
                "put the folder back or annotate again, then save there"
            )

    def append(self, action: Action, expected: int | None = None) -> int:
        """Write one action, alone in its transaction.

        Parameters
        ----------
        action
            What was done.
        expected
            Number of the last action its author knew of; where the log has gone on, `BusyRunError` and nothing written.

        Returns
        -------
        int
            Its number.
        """
        return self.append_all([action], expected)

    def append_all(self, actions: Sequence[Action], expected: int | None = None) -> int:
        """Write actions that belong together: all of them, or none where the process dies in between.

        Returns
        -------
        int
            The number of the last; 0 where there are none.
        """
        with self.hold_for_writing():
            self.check_in_place()
            written = self._write([actions], expected)
            if not self.is_in_place():  # deleted meanwhile: the actions are in the deleted file
                self._seen = [*self._seen, *written]
            self.check_in_place()
        return written[-1].number if written else 0

    def append_batches(self, batches: Sequence[Sequence[Action]]) -> None:
        """Write many groups of actions at once, each of which is undone together."""
        with self.hold_for_writing():
            self.check_in_place()
            self._write(batches, None)

    def _write(self, batches: Sequence[Sequence[Action]], expected: int | None) -> list[Action]:
        """Write in one transaction; returns the actions with their numbers."""
        written: list[Action] = []
        with explain_failure(self.path):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                last = self._check_last(expected)
                for actions in batches:
                    batch = last + 1 if len(actions) > 1 else 0
                    for action in actions:
                        last = self._insert(replace(action, batch=batch))
                        written.append(replace(action, batch=batch, number=last))
                self._writer.execute("COMMIT")
            except BaseException:
                # On a full disk SQLite has rolled back by itself.
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise
        return written

    @contextlib.contextmanager
    def hold_for_writing(self) -> Iterator[None]:
        """Let no other thread append meanwhile."""
        if not self._writing.acquire(timeout=self.patience):
            raise BusyRunError(f"{self.path} is in use; this action was not saved, repeat it in a moment")
        try:
            yield
        finally:
            self._writing.release()

    def _check_last(self, expected: int | None) -> int:
        last = read_last(self._writer)
        if expected is not None and last != expected:
            raise BusyRunError(
                f"another page went on meanwhile (action {last}, not {expected}); look again, then repeat"
            )
        return last

    def _insert(self, action: Action) -> int:
        cursor = self._writer.execute(
            "INSERT INTO actions (time, kind, image, name, value, height, width, counts, checksum, batch, frame) "
            "VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            (time.time(), *(getattr(action, column) for column in CONTENT), _sum(action), action.batch, action.frame),
        )
        return int(cursor.lastrowid or 0)

    def read(self) -> list[Action]:
        """All actions, the oldest first; of a log that is not in its place, those that were read last."""
        with self._reading, explain_failure(self.path):
            # SQLite would take the journal of the file that lies there now for that of the deleted one.
            if self.is_in_place():
                self._seen = _select(self._reader, self.path)
            return list(self._seen)

    def read_last(self) -> int:
        """Number of the last action; 0 in an empty log. Quick: for asking whether another process wrote something."""
        with self._reading, explain_failure(self.path):
            return read_last(self._reader) if self.is_in_place() else len(self._seen)

    def adopt(self, other: CorrectionLog) -> None:
        """Go on with the file of another log, which must not be used any more; hold this one for writing."""
        with self._reading:
            self._close()
            self._writer, self._reader, self._identity = other._writer, other._reader, other._identity

    def close(self) -> None:
        with self._writing, self._reading:
            self._close()

    def _close(self) -> None:
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
        return _select(connection, path)


def _is_listed(path: Path) -> bool:
    """Whether the folder lists the file: a network file system may answer a look at a new name from its cache."""
    try:
        return path.name in os.listdir(path.parent)
    except OSError:
        return False


def _select(connection: sqlite3.Connection, path: Path) -> list[Action]:
    """All actions, if each is as it was written and none is missing: SQLite itself does not notice a turned bit."""
    if not is_begun(connection):
        return []
    rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM actions ORDER BY number").fetchall()
    actions = [_read_row(row, place, path) for place, row in enumerate(rows, start=1)]
    if any(row[-1] != _sum(action) for row, action in zip(rows, actions, strict=True)):
        raise DamagedFileError(f"{path}: an action is not as it was written; restore the file, or move it away")
    return actions


def _read_row(row: tuple, place: int, path: Path) -> Action:
    where, advice = f"{path}: action {place} is damaged", "restore the file, or move it away"
    action: Action = convert_record(dict(zip(COLUMNS, row[:-1], strict=False)), Action, where, advice=advice)
    if action.number != place:
        raise DamagedFileError(f"{path}: action {place} is missing; {advice}")
    return action


def _sum(action: Action) -> str:
    """Checksum of what an action says; eight hexadecimal digits."""
    content = [getattr(action, column) for column in (*CONTENT, "batch", "frame")]
    return f"{zlib.crc32(repr(content).encode()):08x}"


def rescue_log(log: CorrectionLog) -> None:
    """Write what the deleted file of `log` holds to the file at its path now, and go on with that.

    It is written where the file there is a beginning of it, empty or a backup; a log with other actions stays as it is.

    Parameters
    ----------
    log : CorrectionLog
        The log that is no longer in its place.
    """
    if not (log.path.parent / "run.json").is_file():
        raise ReplacedFolderError(
            f"there is no run in {log.path.parent} to save to; put the folder back or annotate again, then save there"
        )
    with log.hold_for_writing():
        found = CorrectionLog(log.path, log.patience)
        try:
            found.append_batches(_list_missing(log.read(), found.read()))
        except BaseException:
            found.close()
            raise
        log.adopt(found)


def _list_missing(old: Sequence[Action], new: Sequence[Action]) -> list[list[Action]]:
    """Actions of `old` that `new` lacks, those of one batch together; none where `new` went another way."""
    if list(old[: len(new)]) != list(new):
        return []
    missing = old[len(new) :]
    groups = groupby(missing, key=lambda action: (action.batch, 0 if action.batch else action.number))
    return [list(group) for _, group in groups]
