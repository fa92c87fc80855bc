"""The SQLite file of the correction log: its schema, checks of an untrusted file, errors in one line.

A log is a regular file of bounded size with one table. A database can name a view or a trigger like one of our tables;
both are rejected, because reading them executes SQL that need not end. A rollback journal beside it can name a
super-journal, a file anywhere that SQLite deletes after rolling back; such a journal is rejected before connecting.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from segvote.errors import (
    BusyRunError,
    DamagedFileError,
    InaccessibleFileError,
    SegvoteError,
    UnwritableFileError,
)
from segvote.io.files import open_regular
from segvote.limits import check_budget, measure_on_disk

# Suffixes of the files beside a database, which SQLite opens unchecked.
COMPANIONS = ("", "-journal", "-shm", "-wal")
# The end of a journal that names a super-journal. Ours never do: they belong to transactions on one database.
SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
FORMAT = 6
WAIT_SECONDS = 10.0
UNWRITABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)

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
CREATE INDEX IF NOT EXISTS adoptions ON actions (number) WHERE kind = 'adopt';
CREATE TRIGGER IF NOT EXISTS never_change BEFORE UPDATE ON actions BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER IF NOT EXISTS never_delete BEFORE DELETE ON actions BEGIN SELECT RAISE(ABORT, 'append only'); END;
"""


def identify(path: Path) -> tuple[int, int] | None:
    """Device and inode of a file; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def connect(path: Path, patience: float) -> sqlite3.Connection:
    """A connection that any thread may use and that waits that number of seconds for another process."""
    connection = sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)
    # A byte of a damaged row that is no UTF-8 fails the checksum of its row, and not the whole query.
    connection.text_factory = lambda text: text.decode(errors="replace")
    return connection


def read_last(connection: sqlite3.Connection) -> int:
    """Number of the last action; 0 in an empty log."""
    return int(connection.execute("SELECT COALESCE(MAX(number), 0) FROM actions").fetchone()[0])


def check_log_file(path: Path) -> None:
    """Check the log and the files beside it before SQLite opens them.

    Rejects pipes and devices, files beyond the budget, and a journal that would delete a file elsewhere.
    """
    for suffix in COMPANIONS:
        file = path.with_name(path.name + suffix)
        with explain_access(file):
            if file.exists() and not file.is_file():
                raise DamagedFileError(f"{file} is not a regular file; move it away and review again")
            if file.is_file():
                check_budget(measure_on_disk(file), file)
            if suffix == "-journal":
                _check_journal(file)


def _check_journal(file: Path) -> None:
    """Reject a journal that names a super-journal.

    Only the journal is opened: closing the log itself would drop the locks of SQLite in this process.
    """
    try:
        with open_regular(file) as opened:
            opened.seek(max(0, os.fstat(opened.fileno()).st_size - len(SUPER_JOURNAL)))
            is_foreign = opened.read() == SUPER_JOURNAL
    except FileNotFoundError:
        return  # another process ended its transaction
    if is_foreign:
        raise DamagedFileError(
            f"{file} was not written by segvote: SQLite would delete the file that it names; move it away"
        )


@contextlib.contextmanager
def explain_access(path: Path) -> Iterator[None]:
    """Turn a failure to open a file into an error that does not call it damaged."""
    try:
        yield
    except (InaccessibleFileError, DamagedFileError):
        raise
    except OSError as error:
        raise InaccessibleFileError(
            f"cannot open {path} ({error.strerror or error}); it is kept as it is: see to its permissions, to the "
            "number of open files or to the disk, then retry"
        ) from error


def check_format(connection: sqlite3.Connection, path: Path) -> None:
    """Reject a log of another format, or with anything in it but our table and triggers; they may be missing."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version not in (0, FORMAT):
        raise DamagedFileError(
            f"{path} has format {version}, this segvote reads {FORMAT}; use the version that wrote it"
        )
    connection.execute("PRAGMA trusted_schema=OFF")
    with contextlib.closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(SCHEMA)
        known = _list_all(fresh)
    for kind, name, _ in sorted(_list_all(connection) - known):
        raise DamagedFileError(f"{path}: holds a {kind} {name!r:.40} that segvote did not make; move the file away")


def _list_all(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    return set(connection.execute("SELECT type, name, sql FROM sqlite_master"))


@contextlib.contextmanager
def explain_failure(path: Path, saving: bool = False) -> Iterator[None]:
    """Turn errors of SQLite into ours: the cause, whether an action that is being saved was, and the remedy."""
    try:
        yield
    except sqlite3.OperationalError as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code in (None, sqlite3.SQLITE_ERROR):  # a value is no text, or a column is missing
            raise DamagedFileError(f"{path} is damaged ({error}); move it away and review again") from error
        if code & 0xFF in UNWRITABLE:
            raise _describe_unusable(path, error, saving) from error
        raise BusyRunError(f"{path} cannot be used now ({error}); close what holds it, then retry") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise DamagedFileError(f"{path} is damaged ({error}); move it away and review again") from error


def _describe_unusable(path: Path, error: sqlite3.Error, saving: bool) -> SegvoteError:
    if saving:
        return UnwritableFileError(
            f"cannot write {path} ({error}); this action was not saved, earlier ones are: make room, or get "
            "permission to write to the run folder, then repeat"
        )
    return InaccessibleFileError(
        f"cannot use {path} ({error}); its actions are kept as they are: see to its permissions, to the number of "
        "open files or to the disk, then retry"
    )
