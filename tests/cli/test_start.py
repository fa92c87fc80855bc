"""What a command that has nothing to vote on does not wait for."""

import subprocess
import sys

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


def test_a_worker_does_not_wait_for_matplotlib():
    code = "import sys, segvote.segmentation.ward; print('matplotlib' in sys.modules, 'higra' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == [
        "False",
        "True",
    ]
