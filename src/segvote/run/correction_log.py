"""A user's corrections on disk: an append-only log in SQLite, one transaction per action.

Nothing is ever changed or deleted: undo is one more row. A row is on the disk before `append` returns, so that a
process killed at any moment loses nothing that was answered; several processes may append to the same log.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from segvote.errors import BadInputError, BusyRunError, DamagedFileError, UnwritableFileError
from segvote.run.log_checks import check_log_file, check_log_tables

# What a user can do; `undo` and `redo` speak of the last of the others.
KINDS = ("cut", "extent", "join", "look", "move", "paint", "redo", "set", "undo")
# Lowest and highest value of a kind; 0 and 1 of the others.
VALUES = {"extent": (1, 9), "paint": (-1, 1), "set": (-1, 1)}
# 1 had no checksums, 2 neither pixels that are kept exactly (*paint*) nor batches nor frames, 3 no *cut* and *join*;
# all are continued.
FORMAT = 4
WAIT_SECONDS = 10.0

SCHEMA = """
CREATE TABLE IF NOT EXISTS actions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    time   REAL NOT NULL,
    kind   TEXT NOT NULL,
    image  TEXT NOT NULL,
    name   TEXT NOT NULL,
    value  INTEGER NOT NULL,
    height INTEGER NOT NULL,
    width  INTEGER NOT NULL,
    counts TEXT NOT NULL,
    checksum TEXT NOT NULL DEFAULT '',
    batch INTEGER NOT NULL DEFAULT 0,
    frame INTEGER NOT NULL DEFAULT -1
);
CREATE TRIGGER IF NOT EXISTS never_change BEFORE UPDATE ON actions BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER IF NOT EXISTS never_delete BEFORE DELETE ON actions BEGIN SELECT RAISE(ABORT, 'append only'); END;
"""


@dataclass(frozen=True)
class Action:
    """One action of the user.

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
    height: int = 0
    width: int = 0
    counts: str = ""
    number: int = 0
    batch: int = 0
    frame: int = -1

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadInputError(f"expected an action of kind {', '.join(KINDS)}; got {self.kind!r}")


COLUMNS = ("kind", "image", "name", "value", "height", "width", "counts", "number")
CONTENT = COLUMNS[:-1]
# Columns of later formats, and what stands for them in a log that has none.
ADDED = {
    "checksum": "TEXT NOT NULL DEFAULT ''",
    "batch": "INTEGER NOT NULL DEFAULT 0",
    "frame": "INTEGER NOT NULL DEFAULT -1",
}


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
        with _explain_failure(self.path):
            self._writer = _connect(self.path, patience)
            self._writer.execute("PRAGMA journal_mode=WAL")
            # FULL: a commit waits for the disk, so that "saved" is true even if the power fails.
            self._writer.execute("PRAGMA synchronous=FULL")
            _check_format(self._writer, self.path)
            self._prepare()
            self._reader = _connect(self.path, patience)

    def _prepare(self) -> None:
        self._writer.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
        for name, kind in ADDED.items():
            if not _has_column(self._writer, name):
                self._writer.execute(f"ALTER TABLE actions ADD COLUMN {name} {kind}")
        self._writer.execute(f"PRAGMA user_version={FORMAT}")

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
        with self._hold_for_writing(), _explain_failure(self.path):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                last = self._check_last(expected)
                batch = last + 1 if len(actions) > 1 else 0
                for action in actions:
                    last = self._insert(replace(action, batch=batch))
                self._writer.execute("COMMIT")
            except BaseException:
                # On a full disk SQLite has rolled back by itself.
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise
        return last if actions else 0

    @contextlib.contextmanager
    def _hold_for_writing(self) -> Iterator[None]:
        if not self._writing.acquire(timeout=self.patience):
            raise BusyRunError(f"{self.path} is in use; this action was not saved, repeat it in a moment")
        try:
            yield
        finally:
            self._writing.release()

    def _check_last(self, expected: int | None) -> int:
        last = _read_last(self._writer)
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
        """All actions, the oldest first."""
        with self._reading, _explain_failure(self.path):
            return _select(self._reader, self.path)

    def read_last(self) -> int:
        """Number of the last action; 0 in an empty log. Quick: for asking whether another process wrote something."""
        with self._reading, _explain_failure(self.path):
            return _read_last(self._reader)

    def close(self) -> None:
        with self._writing, self._reading:
            self._writer.close()
            self._reader.close()


def _connect(path: Path, patience: float) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)


def _read_last(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT COALESCE(MAX(number), 0) FROM actions").fetchone()[0])


def read_actions(path: Path | str) -> list[Action]:
    """All actions of a log that may not exist."""
    path = Path(path)
    if not path.exists():
        return []
    check_log_file(path)
    with _explain_failure(path), contextlib.closing(_connect(path, WAIT_SECONDS)) as connection:
        _check_format(connection, path)
        return _select(connection, path)


def _select(connection: sqlite3.Connection, path: Path) -> list[Action]:
    """All actions, if each is as it was written and none is missing: SQLite itself does not notice a turned bit."""
    if not _is_begun(connection):
        return []
    if _read_format(connection) >= 3 and not all(_has_column(connection, name) for name in ADDED):
        raise DamagedFileError(f"{path} has lost a column; restore the file, or move it away")
    names = [name if _has_column(connection, name) else kind.rsplit(" ", 1)[1] for name, kind in ADDED.items()]
    checksum, batch, frame = names
    rows = connection.execute(
        f"SELECT {', '.join(COLUMNS)}, {batch}, {frame}, {checksum} FROM actions ORDER BY number"
    ).fetchall()
    for place, row in enumerate(rows, start=1):
        _check_row(row, place, path)
    actions = [Action(*row[:-1]) for row in rows]
    sums = [row[-1] for row in rows]
    if any(noted and noted != _sum(action) for noted, action in zip(sums, actions, strict=True)):
        raise DamagedFileError(f"{path}: an action is not as it was written; restore the file, or move it away")
    return actions


def _check_row(row: tuple, place: int, path: Path) -> None:
    kinds = (str, str, str, int, int, int, str, int, int, int, str)
    whole = len(row) == len(kinds) and all(type(one) is kind for one, kind in zip(row, kinds, strict=True))
    sizes = whole and min(*row[4:6], row[8], row[9] + 1) >= 0
    lowest, highest = VALUES.get(row[0], (0, 1))
    if not sizes or row[0] not in KINDS or row[7] != place or not lowest <= row[3] <= highest:
        raise DamagedFileError(f"{path}: action {place} is missing or damaged; restore the file, or move it away")


def _is_begun(connection: sqlite3.Connection) -> bool:
    """Whether the log has its table: who is killed while making the file leaves it without table and format."""
    return _read_format(connection) > 0 or bool(connection.execute("PRAGMA table_info(actions)").fetchall())


def _has_column(connection: sqlite3.Connection, name: str) -> bool:
    return any(row[1] == name for row in connection.execute("PRAGMA table_info(actions)"))


def _sum(action: Action) -> str:
    """Checksum of what an action says; eight hexadecimal digits."""
    content = [getattr(action, column) for column in CONTENT]
    # Of an action that an older format could hold the sum is that of the older format.
    more = [action.batch] if action.batch or action.frame >= 0 else []
    if action.frame >= 0:
        more.append(action.frame)
    return f"{zlib.crc32(repr([*content, *more]).encode()):08x}"


def _read_format(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _check_format(connection: sqlite3.Connection, path: Path) -> None:
    check_log_tables(connection, path, SCHEMA)
    found = _read_format(connection)
    if not 0 <= found <= FORMAT:
        raise DamagedFileError(f"{path} has format {found}, this segvote reads {FORMAT}; use the version that wrote it")


@contextlib.contextmanager
def _explain_failure(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:  # Python's own: what lies in the file is no text
            raise DamagedFileError(f"{path} is damaged ({error}); move it away and review again") from error
        if code & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY):
            raise UnwritableFileError(
                f"cannot write {path} ({error}); this action was not saved, earlier ones are: make room, then repeat"
            ) from error
        raise BusyRunError(f"{path} cannot be used now ({error}); close what holds it and try again") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise DamagedFileError(f"{path} is damaged ({error}); move it away and review again") from error
