"""One stage for all accidents, a tiny run, and the ledger from which the table of docs/reliability.md is made."""

import json
import os
import sys
from pathlib import Path

import pytest
from commands import TINY, World
from stage import Stage

from segvote.datasets import write_scenes
from segvote.steps.annotate import annotate as run_annotate

# Files of torch are written by hand there.
sys.path.append(str(Path(__file__).parents[1] / "features"))


@pytest.fixture(scope="session")
def stage():
    stage = Stage()
    yield stage
    stage.close()


@pytest.fixture(scope="session")
def tiny_scenes(tmp_path_factory):
    """``with``, ``without`` and ``masks`` of three scenes each, 64 x 48 pixels."""
    folder = tmp_path_factory.mktemp("tiny")
    write_scenes(folder, n_with=3, n_without=3, size=(64, 48), object_area=(0.08, 0.16))
    return folder


@pytest.fixture(scope="session")
def tiny_run(tiny_scenes, tmp_path_factory):
    """A finished run on them; only for reading."""
    out = tmp_path_factory.mktemp("tiny-run") / "run"
    return run_annotate(tiny_scenes / "with", tiny_scenes / "without", out, TINY, n_jobs=1).folder.path


@pytest.fixture
def world(tiny_scenes, tiny_run, tmp_path):
    (tmp_path / "own").mkdir()
    return World(tiny_scenes, tiny_run, tmp_path / "own")


class Ledger:
    """What was tried and what was lost; kept where SEGVOTE_LEDGER names a file (`make trust` does)."""

    def __init__(self, test):
        self.test, self.path = test, os.environ.get("SEGVOTE_LEDGER")

    def note(self, row, tried, lost=0):
        """Put down one row; whoever lost something fails here."""
        if self.path:
            entry = {"row": row, "tried": tried, "lost": lost, "test": self.test}
            with Path(self.path).open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        assert lost == 0, f"{row}: {lost} of {tried} lost"


@pytest.fixture
def ledger(request):
    return Ledger(request.node.nodeid.split("[")[0])
