"""Checks of an untrusted log of corrections: a regular file of bounded size with one table, no views and no triggers.

A database can name a view or a trigger like one of our tables; both are rejected, because reading them executes SQL.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from segvote.errors import DamagedFileError
from segvote.memory_budget import check_budget, measure_on_disk

# What SQLite puts beside a database; it opens them without asking what they are.
COMPANIONS = ("", "-journal", "-shm", "-wal")


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
