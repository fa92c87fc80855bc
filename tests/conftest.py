"""Scenes and runs that many tests look at, made once."""

import os

# Before anything loads numpy: on small arrays the threads of its libraries mostly wait for each other, which takes
# twice the processor time. Tests of what several threads compute say so themselves.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import inspect
import re
import shutil
import sys
from pathlib import Path

import hypothesis
import pytest
from msgspec.structs import replace

from segvote import annotate
from segvote.datasets import make_scenes, write_scenes
from segvote.run.record import Inputs
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.settings import Settings

# No test judges by the clock, hypothesis neither.
hypothesis.settings.register_profile("segvote", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("segvote")

# Small and quick: colour words instead of a network, few segments.
QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})


# What a system has not. Windows: pipes and devices in folders, signals to other processes, links without a right to
# make them. macOS: /proc, and names that are not UTF-8.
MISSING = {
    "win32": re.compile(r"mkfifo|symlink_to|/dev/|/proc/|os\.kill|chmod|SIGHUP|SIGKILL|os\.fsencode"),
    "darwin": re.compile(r"/proc/|os\.fsencode"),
}
collect_ignore = {
    "win32": ["trust"],
    "darwin": ["trust/test_attacks.py", "trust/test_odd_names.py", "trust/test_server.py"],
}.get(sys.platform, [])


def needs_missing(function, platform):
    """Whether the text of a test has something that a system has not."""
    return platform in MISSING and MISSING[platform].search(inspect.getsource(function)) is not None


def pytest_collection_modifyitems(items):
    for item in items:
        if isinstance(item, pytest.Function) and needs_missing(item.function, sys.platform):
            item.add_marker(pytest.mark.skip(reason=f"needs what {sys.platform} has not"))


@pytest.fixture(scope="session")
def scenes(tmp_path_factory):
    """Folder with ``with``, ``without`` and ``masks`` of six small scenes each."""
    folder = tmp_path_factory.mktemp("scenes")
    write_scenes(folder, make_scenes(n_with=6, n_without=6, size=(160, 120), object_area=(0.08, 0.16)))
    return folder


@pytest.fixture(scope="session")
def finished_run(scenes, tmp_path_factory):
    """A finished quick run on the scenes; only for reading."""
    out = tmp_path_factory.mktemp("finished") / "run"
    return annotate(scenes / "with", scenes / "without", out, QUICK, n_jobs=1)


@pytest.fixture
def run_copy(finished_run, tmp_path):
    """A copy of the finished run that a test may change."""
    shutil.copytree(finished_run.folder.path, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def own_run(finished_run, scenes, tmp_path):
    """A copy of the finished run, on copies of the images: a test may change all of them."""
    for name in ("with", "without"):
        shutil.copytree(scenes / name, tmp_path / name)
    folder = RunFolder(shutil.copytree(finished_run.folder.path, tmp_path / "run"))
    inputs = Inputs(str(tmp_path / "with"), str(tmp_path / "without"))
    folder.write_record(replace(folder.read_record(), inputs=inputs))
    return Run(folder.path)


@pytest.fixture(scope="session")
def data_folder():
    """The real data sets, for tests marked real_data."""
    folder = Path(os.environ.get("SEGVOTE_DATA", "../shared/data"))
    if not folder.is_dir():
        pytest.skip("no data sets on disk; set SEGVOTE_DATA")
    return folder
