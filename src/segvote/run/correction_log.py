"""A person's corrections on disk: an append-only log in SQLite, one transaction per click.

Nothing is ever changed or deleted: undo is one more line. A line is on the disk before `append` returns, so that a
process killed at any moment loses nothing that was answered; several processes may append to the same log.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from segvote.errors import BadInputError, BusyRunError, DamagedFileError
from segvote.run.log_checks import check_log_file, check_log_tables

__all__ = ["Action", "CorrectionLog", "read_actions"]

# What a person can do; `undo` and `redo` speak of the last of the others.
KINDS = ("look", "move", "redo", "set", "undo")
FORMAT = 2  # 1 had no checksums; it is read, and continued with them
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
    checksum TEXT NOT NULL DEFAULT ''
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
        *set*: 1 object, 0 background, -1 undecided; *look*: 1 looked at, 0 not; *move*: 1 *with*, 0 *without*.
    height, width, counts
        *set*: the pixels, as packed COCO run lengths on a grid of that size laid over the displayed image.
    number
        Place in the log, from 1; 0 before it is written.
    """

    kind: str
    image: str = ""
    name: str = ""
    value: int = 0
    height: int = 0
    width: int = 0
    counts: str = ""
    number: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadInputError(f"expected an action of kind {', '.join(KINDS)}; got {self.kind!r}")


COLUMNS = ("kind", "image", "name", "value", "height", "width", "counts", "number")


class CorrectionLog:
    """The log, opened for appending; safe to use from several threads.

    Parameters
    ----------
    path
        ``review.sqlite`` of a run folder; made when it is missing.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        check_log_file(self.path)
        with _explain_damage(self.path):
            self._connection = sqlite3.connect(
                self.path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode=WAL")
            # FULL: a commit waits for the disk, so that "saved" is true even if the power fails.
            self._connection.execute("PRAGMA synchronous=FULL")
            _check_format(self._connection, self.path)
            self._prepare()

    def _prepare(self) -> None:
        self._connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
        if not _has_checksums(self._connection):
            self._connection.execute("ALTER TABLE actions ADD COLUMN checksum TEXT NOT NULL DEFAULT ''")
        self._connection.execute(f"PRAGMA user_version={FORMAT}")

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
        return self._append_all([action], expected)

    def append_all(self, actions: Iterable[Action]) -> None:
        """Write actions that belong together: all of them, or none where the process dies in between."""
        self._append_all(actions, None)

    def _append_all(self, actions: Iterable[Action], expected: int | None) -> int:
        number = 0
        with self._lock, _explain_damage(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._check_last(expected)
                for action in actions:
                    number = self._insert(action)
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
        return number

    def _check_last(self, expected: int | None) -> None:
        last = self._connection.execute("SELECT COALESCE(MAX(number), 0) FROM actions").fetchone()[0]
        if expected is not None and last != expected:
            raise BusyRunError(
                f"another page went on meanwhile (action {last}, not {expected}); look again, then repeat"
            )

    def _insert(self, action: Action) -> int:
        cursor = self._connection.execute(
            "INSERT INTO actions (time, kind, image, name, value, height, width, counts, checksum) "
            "VALUES (?,?,?,?,?,?,?,?,?)",
            (time.time(), *(getattr(action, column) for column in COLUMNS[:-1]), _sum(action)),
        )
        return int(cursor.lastrowid or 0)

    def read(self) -> list[Action]:
        """All actions, the oldest first."""
        with self._lock, _explain_damage(self.path):
            return _select(self._connection, self.path)

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def read_actions(path: Path | str) -> list[Action]:
    """All actions of a log that may not exist."""
    path = Path(path)
    if not path.exists():
        return []
    check_log_file(path)
    with _explain_damage(path), contextlib.closing(sqlite3.connect(path, timeout=WAIT_SECONDS)) as connection:
        _check_format(connection, path)
        return _select(connection, path)


def _select(connection: sqlite3.Connection, path: Path) -> list[Action]:
    """All actions, if each is as it was written and none is missing: SQLite itself does not notice a turned bit."""
    if not _is_begun(connection):
        return []
    checksum = "checksum" if _has_checksums(connection) else "''"
    rows = connection.execute(f"SELECT {', '.join(COLUMNS)}, {checksum} FROM actions ORDER BY number").fetchall()
    for place, row in enumerate(rows, start=1):
        _check_row(row, place, path)
    actions = [Action(*row[:-1]) for row in rows]
    sums = [row[-1] for row in rows]
    if any(said and said != _sum(action) for said, action in zip(sums, actions, strict=True)):
        raise DamagedFileError(f"{path}: an action is not as it was written; restore the file, or move it away")
    return actions


def _check_row(row: tuple, place: int, path: Path) -> None:
    kinds = (str, str, str, int, int, int, str, int, str)
    whole = len(row) == len(kinds) and all(type(one) is kind for one, kind in zip(row, kinds, strict=True))
    if not whole or row[0] not in KINDS or row[7] != place or not -1 <= row[3] <= 1 or min(row[4:6]) < 0:
        raise DamagedFileError(f"{path}: action {place} is missing or damaged; restore the file, or move it away")


def _is_begun(connection: sqlite3.Connection) -> bool:
    """Whether the log has its table: who is killed while making the file leaves it without table and format."""
    has_format = connection.execute("PRAGMA user_version").fetchone()[0] > 0
    return has_format or bool(connection.execute("PRAGMA table_info(actions)").fetchall())


def _has_checksums(connection: sqlite3.Connection) -> bool:
    return any(row[1] == "checksum" for row in connection.execute("PRAGMA table_info(actions)"))


def _sum(action: Action) -> str:
    """Checksum of what an action says; eight hexadecimal digits."""
    return f"{zlib.crc32(repr([getattr(action, column) for column in COLUMNS[:-1]]).encode()):08x}"


def _check_format(connection: sqlite3.Connection, path: Path) -> None:
    check_log_tables(connection, path, SCHEMA)
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if not 0 <= found <= FORMAT:
        raise DamagedFileError(f"{path} has format {found}, this segvote reads {FORMAT}; use the version that wrote it")


@contextlib.contextmanager
def _explain_damage(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise BusyRunError(f"{path} cannot be used now ({error}); close what holds it and try again") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise DamagedFileError(f"{path} is damaged ({error}); move it away and review again") from error
