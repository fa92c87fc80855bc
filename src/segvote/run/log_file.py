"""The SQLite file of the log of corrections: its schema, checks of an untrusted file, errors in one line.

A log is a regular file of bounded size with one table. A database can name a view or a trigger like one of our tables;
both are rejected, because reading them executes SQL that need not end.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from segvote.errors import BusyRunError, DamagedFileError, UnwritableFileError
from segvote.memory_budget import check_budget, measure_on_disk

# What SQLite puts beside a database; it opens them without asking what they are.
COMPANIONS = ("", "-journal", "-shm", "-wal")
FORMAT = 5
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
    checksum TEXT NOT NULL,
    batch  INTEGER NOT NULL,
    frame  INTEGER NOT NULL
);
CREATE TRIGGER IF NOT EXISTS never_change BEFORE UPDATE ON actions BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER IF NOT EXISTS never_delete BEFORE DELETE ON actions BEGIN SELECT RAISE(ABORT, 'append only'); END;
"""


def identify(path: Path) -> tuple[int, ...]:
    """Device and inode of a file and of its folder; empty where there is none."""
    try:
        statuses = [os.stat(path), os.stat(path.parent)]
    except OSError:
        return ()
    return tuple(number for status in statuses for number in (status.st_dev, status.st_ino))


def connect(path: Path, patience: float) -> sqlite3.Connection:
    """A connection that any thread may use and that waits so many seconds for another process."""
    return sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)


def read_last(connection: sqlite3.Connection) -> int:
    """Number of the last action; 0 in an empty log."""
    return int(connection.execute("SELECT COALESCE(MAX(number), 0) FROM actions").fetchone()[0])


def check_log_file(path: Path) -> None:
    """Refuse pipes and devices in the place of the log or of the files beside it, and a log beyond the budget."""
    for suffix in COMPANIONS:
        file = path.with_name(path.name + suffix)
        if file.exists() and not file.is_file():
            raise DamagedFileError(f"{file} is not a regular file; move it away and review again")
        if file.is_file():
            check_budget(measure_on_disk(file), file)


def check_log_tables(connection: sqlite3.Connection, path: Path, schema: str) -> None:
    """Refuse a database with anything in it but the tables and the triggers of a schema; they may be missing."""
    connection.execute("PRAGMA trusted_schema=OFF")
    with sqlite3.connect(":memory:") as fresh:
        fresh.executescript(schema)
        known = {(kind, name): sql for kind, name, sql in _list_all(fresh)}
    fresh.close()
    for kind, name, sql in _list_all(connection):
        # Tables of older versions have fewer columns; a table runs nothing, whatever its columns.
        if (kind, name) not in known or (kind == "trigger" and sql != known[kind, name]):
            raise DamagedFileError(f"{path}: holds a {kind} {name!r:.40} that segvote did not make; move the file away")


def _list_all(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    return connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()


def is_begun(connection: sqlite3.Connection) -> bool:
    """Whether the log has its table: a process killed while making the file leaves it without."""
    return _read_format(connection) > 0 or bool(connection.execute("PRAGMA table_info(actions)").fetchall())


def _read_format(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def check_format(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a log of another format, or with anything in it but our table."""
    check_log_tables(connection, path, SCHEMA)
    found = _read_format(connection)
    if found not in (0, FORMAT):
        raise DamagedFileError(f"{path} has format {found}, this segvote reads {FORMAT}; use the version that wrote it")


@contextlib.contextmanager
def explain_failure(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into ours: what happened, whether the action was saved, what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code in (None, sqlite3.SQLITE_ERROR):  # what lies in the file is no text, or a column is missing
            raise DamagedFileError(f"{path} is damaged ({error}); move it away and review again") from error
        if code & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise UnwritableFileError(
                f"cannot write {path} ({error}); this action was not saved: get permission to write to the run folder, "
                "or copy it to a place of your own"
            ) from error
        if code & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise UnwritableFileError(
                f"cannot write {path} ({error}); this action was not saved, earlier ones are: make room, then repeat"
            ) from error
        raise BusyRunError(f"{path} cannot be used now ({error}); close what holds it and try again") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise DamagedFileError(f"{path} is damaged ({error}); move it away and review again") from error
