"""`annotate --workers` and `--scheduler`: what is handed on, and what is said."""

import contextlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from segvote import scaling
from segvote.cli.app import load_commands
from segvote.cli.workers import open_workers


@pytest.fixture
def opened(monkeypatch):
    """What the cluster was asked for; no process is started."""
    asked = SimpleNamespace()

    @contextlib.contextmanager
    def open_nothing(n_workers, scheduler, folders):
        asked.n_workers, asked.scheduler, asked.folders = n_workers, scheduler, folders
        yield SimpleNamespace(dashboard="http://127.0.0.1:1/status")

    monkeypatch.setattr(scaling, "open_cluster", open_nothing)
    return asked


def test_places_are_named_in_full_and_looked_for(opened, tmp_path, monkeypatch, capsys):
    (tmp_path / "with").mkdir()
    monkeypatch.chdir(tmp_path)
    with open_workers(3, None, [Path("with"), Path("new/out"), None]) as cluster:
        assert cluster.dashboard == "http://127.0.0.1:1/status"
    assert (opened.n_workers, opened.scheduler) == (3, None)
    assert opened.folders == [tmp_path / "with", tmp_path / "new/out"]
    assert capsys.readouterr().err == "dashboard http://127.0.0.1:1/status\n"


def test_without_workers_nothing_is_opened(opened):
    with open_workers(None, None, [Path("with")]) as cluster:
        assert cluster is None
    assert not hasattr(opened, "scheduler")


def test_both_options_are_one_too_many(scenes, tmp_path):
    command = ["annotate", str(scenes / "with"), str(scenes / "without"), "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(load_commands(), [*command, "--workers", "2", "--scheduler", "tcp://127.0.0.1:1"])
    assert result.exit_code != 0
    assert "give one" in str(result.exception)
