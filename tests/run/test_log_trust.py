"""A log from elsewhere: a journal that names another file, damaged rows, files that cannot be opened."""

import contextlib
import errno
import os
import sqlite3
import struct

import pytest

from segvote.errors import DamagedFileError, InaccessibleFileError
from segvote.io.arrays import read_arrays, write_arrays
from segvote.run import log_file
from segvote.run.correction_log import Action, CorrectionLog, read_actions
from segvote.run.corrections import replay

MAGIC = bytes.fromhex("d9d505f920a163d7")


def write_log(path, n_actions=5):
    with contextlib.closing(CorrectionLog(path)) as log:
        for number in range(n_actions):
            log.append(Action("set", f"image {number % 2}", "name", 1, 4, 4, "0@"))
    return path


def write_hostile_journal(path, target):
    """A journal of no page that is rolled back, and then makes SQLite delete `target`."""
    n_pages = os.stat(path).st_size // 4096
    header = MAGIC + struct.pack(">5I", 0, 1, n_pages, 4096, 4096)
    name = os.fsencode(target)
    checksum = sum(struct.unpack(f"{len(name)}b", name)) & 0xFFFFFFFF
    trailer = struct.pack(">I", 0x40000000 // 4096 + 1) + name + struct.pack(">2I", len(name), checksum) + MAGIC
    path.with_name(path.name + "-journal").write_bytes(header.ljust(4096, b"\0") + trailer)


@pytest.mark.parametrize("use", [read_actions, CorrectionLog])
def test_a_journal_that_names_another_file_is_refused(tmp_path, use):
    path, target = write_log(tmp_path / "review.sqlite"), tmp_path / "precious"
    target.write_text("a thesis")
    write_hostile_journal(path, target)
    with pytest.raises(DamagedFileError, match="was not written by segvote"):
        use(path)
    assert target.exists()


def test_sqlite_itself_would_delete_the_named_file(tmp_path):
    """The journal of these tests is one that SQLite acts on; else they would prove nothing."""
    path, target = write_log(tmp_path / "review.sqlite"), tmp_path / "precious"
    target.write_text("a thesis")
    write_hostile_journal(path, target)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT * FROM actions").fetchall()
    assert not target.exists()


def test_the_journal_of_a_killed_process_is_rolled_back(tmp_path):
    path = write_log(tmp_path / "review.sqlite")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA cache_size=1")
        other.execute("BEGIN IMMEDIATE")
        columns = "number, time, kind, image, name, value, height, width, counts, checksum, batch, frame"
        values = "6, 0, 'accept', '', '', 1, 0, 0, zeroblob(99999), '', 0, -1"
        other.execute(f"INSERT INTO actions ({columns}) VALUES ({values})")
        copy = tmp_path / "copy" / path.name
        copy.parent.mkdir()
        for suffix in ("", "-journal"):
            copy.with_name(copy.name + suffix).write_bytes(path.with_name(path.name + suffix).read_bytes())
    assert len(read_actions(copy)) == 5


def change_row(path, change):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for name in ("never_change", "never_delete"):
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(change)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE actions SET counts = '1@' WHERE number = 3",
        "UPDATE actions SET kind = 'nonsense' WHERE number = 3",
        "UPDATE actions SET name = CAST(x'ff' AS TEXT) WHERE number = 3",
        "UPDATE actions SET value = 'much' WHERE number = 3",
        "DELETE FROM actions WHERE number = 3",
    ],
)
def test_a_damaged_row_is_named_and_the_others_are_kept(tmp_path, change):
    path = write_log(tmp_path / "review.sqlite")
    change_row(path, change)
    actions = read_actions(path)
    assert [one.kind for one in actions] == ["set", "set", "lost", "set", "set"]
    corrections = replay(actions)
    assert corrections.lost == (3,) and corrections.last == 5
    assert [one.number for one in corrections.strokes["image 1"]] == [2, 4]
    with contextlib.closing(CorrectionLog(path)) as log:
        assert log.append(Action("undo")) == 6
        assert [one.number for one in log.read(after=4)] == [5, 6]


def test_an_undo_after_a_damaged_row_takes_back_that_row(tmp_path):
    path = write_log(tmp_path / "review.sqlite", 3)
    with contextlib.closing(CorrectionLog(path)) as log:
        log.append(Action("undo"))
    change_row(path, "UPDATE actions SET counts = '1@' WHERE number = 3")
    strokes = replay(read_actions(path)).strokes
    assert sorted(one.number for several in strokes.values() for one in several) == [1, 2]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EMFILE, errno.EIO])
def test_a_file_that_cannot_be_opened_is_not_called_damaged(tmp_path, monkeypatch, number):
    path, arrays = write_log(tmp_path / "review.sqlite"), tmp_path / "arrays.npz"
    write_arrays(arrays)
    path.with_name(path.name + "-journal").touch()

    def refuse(path):
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(log_file, "open_regular", refuse)
    monkeypatch.setattr("segvote.io.arrays.open_regular", refuse)
    for use in (read_actions, CorrectionLog):
        with pytest.raises(InaccessibleFileError, match=os.strerror(number)):
            use(path)
    with pytest.raises(InaccessibleFileError, match=os.strerror(number)):
        read_arrays(arrays)


def test_a_log_sqlite_cannot_open_is_not_called_damaged(tmp_path, monkeypatch):
    path = write_log(tmp_path / "review.sqlite")
    missing = tmp_path / "missing" / "review.sqlite"
    connect = log_file.connect
    monkeypatch.setattr("segvote.run.correction_log.connect", lambda path, patience: connect(missing, patience))
    with pytest.raises(InaccessibleFileError, match="unable to open"):
        read_actions(path)
