"""The log of corrections, when a process died while making it."""

import contextlib
import sqlite3

import pytest

from segvote.errors import SegvoteError
from segvote.run.correction_log import Action, CorrectionLog, read_actions


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


def test_a_log_that_lost_its_table_is_no_empty_one(tmp_path):
    path = tmp_path / "review.sqlite"
    CorrectionLog(path).close()
    begin(path, "DROP TABLE actions")
    with pytest.raises(SegvoteError, match=r"review\.sqlite"):
        read_actions(path)
