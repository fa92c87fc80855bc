"""What a command that has nothing to vote on does not wait for."""

import subprocess
import sys

import pytest

from segvote import annotate
from segvote.run.settings import Settings
from segvote.steps import extract

REPEAT = """
import sys
from segvote.run.settings import Settings
from segvote import annotate
folder, out = sys.argv[1:]
settings = Settings(features="color", n_segments=40, size=160)
annotate(folder + "/with", folder + "/without", out, settings, n_jobs=1)
print("sklearn" in sys.modules)
"""


def test_a_repeated_run_does_not_import_scikit_learn(scenes, tmp_path):
    told = [
        subprocess.run(
            [sys.executable, "-c", REPEAT, str(scenes), str(tmp_path / "run")], capture_output=True, text=True
        )
        for _ in range(2)
    ]
    assert [one.stdout.strip() for one in told] == ["True", "False"], told[-1].stderr


def test_a_repeated_run_opens_no_segments_and_no_features(scenes, tmp_path, monkeypatch):
    settings = Settings(features="color", n_segments=40, size=160)
    folders = scenes / "with", scenes / "without", tmp_path / "run"
    annotate(*folders, settings, n_jobs=1)
    monkeypatch.setattr(extract, "read_if_whole", lambda path: pytest.fail(f"{path} is opened"))
    assert len(annotate(*folders, settings, n_jobs=1)) == 12


def test_a_worker_does_not_wait_for_matplotlib():
    code = "import sys, segvote.segmentation.ward; print('matplotlib' in sys.modules, 'higra' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == [
        "False",
        "True",
    ]


def test_what_was_hidden_from_higra_can_be_imported_afterwards():
    code = "import segvote.segmentation.ward, scipy.cluster.hierarchy; print(scipy.cluster.hierarchy.__name__)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip()
