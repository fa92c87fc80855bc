"""A vote that does not fit into memory is refused before it begins."""

import shutil

import pytest

import segvote
from segvote.errors import TooLargeError
from segvote.pipeline import table
from segvote.pipeline.table import check_memory


def test_the_missing_gigabytes_are_named(monkeypatch):
    monkeypatch.setattr(table, "_measure_free_memory", lambda: 2 * 10**9)
    with pytest.raises(TooLargeError, match=r"needs 5\.7 GB of memory, 2\.0 GB are free: 3\.7 GB are missing"):
        check_memory(10**6, 472)
    check_memory(10**5, 472)


def test_a_run_is_refused_before_its_vote(finished_run, tmp_path, monkeypatch):
    folder = shutil.copytree(finished_run.folder.path, tmp_path / "out")
    monkeypatch.setattr(table, "ALWAYS_THERE", 0)
    monkeypatch.setattr(table, "_measure_free_memory", lambda: 0)
    shutil.rmtree(folder / "votes")
    with pytest.raises(TooLargeError, match="GB are missing"):
        segvote.update(folder, n_jobs=1)
