"""The log of corrections, when a process died while making it."""

import contextlib
import os
import shutil
import sqlite3

import pytest

from segvote.errors import BusyRunError, DamagedFileError, UnwritableFileError
from segvote.run.correction_log import Action, CorrectionLog, read_actions

ACCEPTED = Action("accept", "image", "name", 1)


def begin(path, *commands):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for command in commands:
            connection.execute(command)


@pytest.mark.parametrize("commands", [(), ("PRAGMA journal_mode=WAL",)])
def test_a_log_that_was_just_begun_is_an_empty_one(tmp_path, commands):
    path = tmp_path / "review.sqlite"
    path.touch()
    begin(path, *commands)
    assert read_actions(path) == []
    log = CorrectionLog(path)
    log.append(Action("accept", "image", "name", 1))
    log.close()
    assert [action.kind for action in read_actions(path)] == ["accept"]


def test_a_full_disk_is_reported_and_loses_nothing(tmp_path):
    path = tmp_path / "review.sqlite"
    log = CorrectionLog(path)
    log.append(Action("accept", "image", "name", 1))
    n_pages = log._writer.execute("PRAGMA page_count").fetchone()[0]
    log._writer.execute(f"PRAGMA max_page_count={n_pages}")  # SQLite answers as on a full disk
    with pytest.raises(UnwritableFileError, match=r"full.*not saved.*make room"):
        log.append(Action("set", "image", "name", 1, 9, 9, "x" * 100_000))
    log._writer.execute("PRAGMA max_page_count=100000")
    assert log.append(Action("accept", "image", "name", 0)) == 2
    assert [action.value for action in log.read()] == [1, 0]
    log.close()


def test_reading_does_not_wait_for_a_process_that_writes(tmp_path):
    path = tmp_path / "review.sqlite"
    log = CorrectionLog(path, patience=0.1)
    log.append(Action("accept", "image", "name", 1))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BusyRunError, match="locked"):
            log.append(Action("accept", "image", "name", 0))
        assert len(log.read()) == log.read_last() == 1
    log.close()


def test_a_log_of_another_format_is_refused(tmp_path):
    path = tmp_path / "review.sqlite"
    CorrectionLog(path).close()
    begin(path, "PRAGMA user_version=2")
    for use in (read_actions, CorrectionLog):
        with pytest.raises(DamagedFileError, match="format 2"):
            use(path)


HOSTILE = {
    "a view without end": (
        "DROP TABLE actions",
        "CREATE VIEW actions AS WITH RECURSIVE n(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM n) "
        "SELECT number, 0.0 time, 'accept' kind, '' image, '' name, 1 value, 0 height, 0 width, '' counts, '' checksum "
        "FROM n",
    ),
    "a trigger on writing": (
        "CREATE TRIGGER more AFTER INSERT ON actions BEGIN INSERT INTO actions SELECT * FROM actions; END",
    ),
    "a trigger called like ours": (
        "DROP TRIGGER never_change",
        "CREATE TRIGGER never_change AFTER INSERT ON actions BEGIN SELECT randomblob(1000000000); END",
    ),
    "another table": ("CREATE TABLE more (a)",),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_log_with_programs_in_it_is_refused(tmp_path, kind):
    path = tmp_path / "review.sqlite"
    CorrectionLog(path).close()
    begin(path, *HOSTILE[kind])
    for use in (read_actions, CorrectionLog):
        with pytest.raises(DamagedFileError, match="segvote did not make"):
            use(path)


@pytest.mark.parametrize("name", ["review.sqlite", "review.sqlite-wal"])
@pytest.mark.parametrize("place", [None, "/dev/zero"])
def test_a_pipe_or_a_device_in_the_place_of_the_log_is_refused(tmp_path, name, place):
    path = tmp_path / "review.sqlite"
    CorrectionLog(path).close()
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name) if place is None else (tmp_path / name).symlink_to(place)
    for use in (read_actions, CorrectionLog):
        with pytest.raises(DamagedFileError, match="regular"):
            use(path)


def move_folder(folder):
    folder.rename(folder.with_name("moved"))


def remove_log(folder):
    (folder / "review.sqlite").unlink()


def replace_folder(folder):
    shutil.rmtree(folder)
    folder.mkdir()
    CorrectionLog(folder / "review.sqlite").close()


@pytest.fixture
def log(tmp_path):
    (tmp_path / "run").mkdir()
    with contextlib.closing(CorrectionLog(tmp_path / "run" / "review.sqlite")) as log:
        log.append(ACCEPTED)
        yield log


@pytest.mark.parametrize("change", [move_folder, remove_log, replace_folder])
def test_a_replaced_log_rejects_actions(log, change):
    change(log.path.parent)
    with pytest.raises(BusyRunError, match="deleted, moved or replaced"):
        log.append(ACCEPTED)


def test_a_log_deleted_while_it_is_written_says_so(log, monkeypatch):
    write = log._write

    def write_and_delete(*arguments):
        write(*arguments)
        replace_folder(log.path.parent)

    monkeypatch.setattr(log, "_write", write_and_delete)
    with pytest.raises(BusyRunError, match="not saved"):
        log.append(ACCEPTED)


def test_a_folder_that_came_back_is_used_again(log):
    move_folder(log.path.parent)
    log.path.parent.with_name("moved").rename(log.path.parent)
    assert log.append(ACCEPTED) == 2
