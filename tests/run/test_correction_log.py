"""The log of corrections, when a process died while making it."""

import contextlib
import os
import shutil
import sqlite3

import pytest

from segvote.errors import (
    BusyRunError,
    DamagedFileError,
    ReplacedFolderError,
    UnwritableFileError,
)
from segvote.run.correction_log import Action, CorrectionLog, read_actions, rescue_log


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
    log.append(Action("look", "image", "name", 1))
    log.close()
    assert [action.kind for action in read_actions(path)] == ["look"]


def test_a_full_disk_is_reported_and_loses_nothing(tmp_path):
    path = tmp_path / "review.sqlite"
    log = CorrectionLog(path)
    log.append(Action("look", "image", "name", 1))
    n_pages = log._writer.execute("PRAGMA page_count").fetchone()[0]
    log._writer.execute(f"PRAGMA max_page_count={n_pages}")  # SQLite answers as on a full disk
    with pytest.raises(UnwritableFileError, match=r"full.*not saved.*make room"):
        log.append(Action("set", "image", "name", 1, 9, 9, "x" * 100_000))
    log._writer.execute("PRAGMA max_page_count=100000")
    assert log.append(Action("look", "image", "name", 0)) == 2
    assert [action.value for action in log.read()] == [1, 0]
    log.close()


def test_reading_does_not_wait_for_a_process_that_writes(tmp_path):
    path = tmp_path / "review.sqlite"
    log = CorrectionLog(path, patience=0.1)
    log.append(Action("look", "image", "name", 1))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BusyRunError, match="locked"):
            log.append(Action("look", "image", "name", 0))
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
        "SELECT number, 0.0 time, 'look' kind, '' image, '' name, 1 value, 0 height, 0 width, '' counts, '' checksum "
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


def look(value=1, name="name"):
    return Action("look", "image", name, value)


def make_log(folder, n_actions=1):
    folder.mkdir(exist_ok=True)
    (folder / "run.json").touch()
    log = CorrectionLog(folder / "review.sqlite")
    for _ in range(n_actions):
        log.append(look())
    log.read()
    return log


def remove_file(folder):
    (folder / "review.sqlite").unlink()


def remake_folder(folder):
    shutil.rmtree(folder)
    make_log(folder, 0).close()


def move_folder(folder):
    folder.rename(folder.with_name("moved"))


@pytest.mark.parametrize("replace", [remove_file, remake_folder, move_folder])
def test_a_replaced_log_refuses_actions(tmp_path, replace):
    log = make_log(tmp_path / "run")
    replace(tmp_path / "run")
    with pytest.raises(ReplacedFolderError, match="deleted, moved or replaced"):
        log.append(look(0))
    log.close()


def test_a_log_deleted_while_it_is_written_says_so(tmp_path, monkeypatch):
    log = make_log(tmp_path / "run")
    write = log._write

    def write_and_delete(*arguments):
        written = write(*arguments)
        remake_folder(tmp_path / "run")
        return written

    monkeypatch.setattr(log, "_write", write_and_delete)
    with pytest.raises(ReplacedFolderError):
        log.append(look(0))
    rescue_log(log)
    assert [action.value for action in read_actions(log.path)] == [1, 0]
    log.close()


def test_a_deleted_log_is_rescued_with_its_batches(tmp_path):
    log = make_log(tmp_path / "run", 2)
    log.append_all([look(0, "a"), look(0, "b")])
    before = log.read()
    remake_folder(tmp_path / "run")
    rescue_log(log)
    assert read_actions(log.path) == before
    assert log.append(look()) == 5
    log.close()


def test_a_log_with_other_actions_stays_as_it_is(tmp_path):
    log = make_log(tmp_path / "run", 2)
    remake_folder(tmp_path / "run")
    other = CorrectionLog(log.path)
    other.append(look(name="other"))
    other.close()
    rescue_log(log)
    assert [action.name for action in log.read()] == ["other"]
    log.close()


def test_a_folder_that_came_back_is_used_again(tmp_path):
    log = make_log(tmp_path / "run")
    move_folder(tmp_path / "run")
    with pytest.raises(ReplacedFolderError, match="no run in"):
        rescue_log(log)
    (tmp_path / "moved").rename(tmp_path / "run")
    rescue_log(log)
    assert log.append(look(0)) == 2
    log.close()
