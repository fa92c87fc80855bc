"""A tiny run, and the stage on which commands fail at an exact moment."""

import shutil
import sys
from pathlib import Path

import pytest
from commands import TINY, World
from stage import Stage

from segvote import annotate
from segvote.datasets import make_scenes, write_scenes

sys.path.append(str(Path(__file__).parents[1] / "features"))  # torch_writer


@pytest.fixture(scope="session")
def stage():
    stage = Stage()
    yield stage
    stage.close()


@pytest.fixture(scope="session")
def tiny_scenes(tmp_path_factory):
    """``with``, ``without`` and ``masks`` of three scenes each, 64 x 48 pixels."""
    folder = tmp_path_factory.mktemp("tiny")
    write_scenes(folder, make_scenes(n_with=3, n_without=3, size=(64, 48), object_area=(0.08, 0.16)))
    return folder


@pytest.fixture(scope="session")
def tiny_run(tiny_scenes, tmp_path_factory):
    """A finished run on them; only for reading."""
    out = tmp_path_factory.mktemp("tiny-run") / "run"
    return annotate(tiny_scenes / "with", tiny_scenes / "without", out, TINY, n_jobs=1).folder.path


@pytest.fixture
def own_run(tiny_run, tmp_path):
    """A copy of the finished run that a test may change."""
    return Path(shutil.copytree(tiny_run, tmp_path / "run"))


@pytest.fixture
def world(tiny_scenes, tiny_run, tmp_path):
    (tmp_path / "own").mkdir()
    return World(tiny_scenes, tiny_run, tmp_path / "own")
