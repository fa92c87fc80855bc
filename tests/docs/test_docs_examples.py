"""The notebook and the gallery run from top to bottom."""

import json
import os
import subprocess
import sys
import tempfile

import matplotlib.pyplot
import pytest
from markdown_pages import DOCS

from segvote import Settings, annotate

SCRIPTS = [path for folder in ("examples", "gallery") for path in sorted((DOCS / folder).glob("plot_*.py"))]
TUTORIAL = DOCS / "tutorial.ipynb"


def run_python(*arguments):
    environment = {**os.environ, "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_tutorial_runs_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setitem(annotate.__kwdefaults__, "n_jobs", 1)  # a kernel is a main program, a test is none
    monkeypatch.setattr("segvote.api.Settings", lambda: Settings(n_segments=60, size=160, detail="coarse"))
    cells = [cell for cell in json.loads(TUTORIAL.read_text())["cells"] if cell["cell_type"] == "code"]
    first, *others = ["".join(cell["source"]) for cell in cells]
    names, few = {"__name__": "__main__"}, first.replace("n_with=8, n_without=20", "n_with=4, n_without=4")
    assert few != first
    with matplotlib.rc_context({"backend": "agg"}):
        for code in (few, *others):
            exec(code, names)  # noqa: S102 - our own
    matplotlib.pyplot.close("all")
    assert (len(names["run"]), len(names["found"].images)) == (8, 8)


def test_the_tutorial_has_the_cells_of_its_script():
    pytest.importorskip("nbclient")
    code = "import sys; sys.path.insert(0, sys.argv[1]); import json, write_tutorial as w; print(json.dumps(w.CELLS))"
    written = json.loads(run_python("-c", code, DOCS / "_ext"))
    assert ["".join(cell["source"]) for cell in json.loads(TUTORIAL.read_text())["cells"]] == written


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_of_the_gallery_runs(script):
    run_python(script)
