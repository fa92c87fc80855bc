"""Imports that a command avoids."""

import subprocess
import sys

REPEAT = """
import sys
from segvote import Run, annotate
folder, out = sys.argv[1:]
annotate(folder + "/with", folder + "/without", out, Run(out).settings, n_jobs=1)
print("sklearn" in sys.modules)
"""


def run_python(*arguments):
    return subprocess.run(
        [sys.executable, "-c", *map(str, arguments)], capture_output=True, text=True, check=True
    ).stdout


def test_a_repeated_run_does_not_import_scikit_learn(scenes, run_copy):
    assert run_python(REPEAT, scenes, run_copy).strip() == "False"


def test_a_worker_does_not_import_matplotlib():
    code = "import sys, segvote.segmentation.ward; print('matplotlib' in sys.modules, 'higra' in sys.modules)"
    assert run_python(code).split() == ["False", "True"]
