"""The notebook and the gallery run from top to bottom."""

import ast
import importlib
import json
import os
import subprocess
import sys
import tempfile

import matplotlib.pyplot
import pytest
from markdown_pages import DOCS, PAGES, list_blocks

from segvote import annotate

EXAMPLES = sorted((DOCS / "examples").glob("plot_*.py"))
SCRIPTS = [*EXAMPLES, *sorted((DOCS / "gallery").glob("plot_*.py"))]
PUBLIC = {"segvote", "segvote.datasets", "segvote.integrations", "segvote.metrics"}
TUTORIAL = DOCS / "tutorial.ipynb"
EXECUTE = """
import sys, nbformat, nbclient
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=None).execute()
"""


def run_python(*arguments):
    environment = {**os.environ, "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def list_code_cells():
    return [cell for cell in json.loads(TUTORIAL.read_text())["cells"] if cell["cell_type"] == "code"]


def test_the_tutorial_runs_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setitem(annotate.__kwdefaults__, "n_jobs", 1)  # a kernel is a main program, a test is none
    first, *others = ["".join(cell["source"]) for cell in list_code_cells()]
    names, few = {"__name__": "__main__"}, first.replace("n_with=8, n_without=20", "n_with=4, n_without=4")
    assert few != first
    with matplotlib.rc_context({"backend": "agg"}):
        for code in (few, *others):
            exec(code, names)  # noqa: S102 - our own
    matplotlib.pyplot.close("all")
    assert (len(names["run"]), len(names["found"].images)) == (8, 8)


@pytest.mark.slow
def test_the_tutorial_runs_as_a_notebook():
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    run_python("-c", EXECUTE, TUTORIAL)


def test_the_tutorial_is_the_one_that_is_written_down():
    pytest.importorskip("nbclient")
    code = "import sys; sys.path.insert(0, sys.argv[1]); import json, write_tutorial as w; print(json.dumps(w.CELLS))"
    written = json.loads(run_python("-c", code, DOCS / "_ext"))
    assert ["".join(cell["source"]) for cell in json.loads(TUTORIAL.read_text())["cells"]] == written


def list_imports(code):
    """Modules of segvote, and the names taken from them."""
    nodes = list(ast.walk(ast.parse(code)))
    plain = [(one.name, None) for node in nodes if isinstance(node, ast.Import) for one in node.names]
    taken = [(node.module, one.name) for node in nodes if isinstance(node, ast.ImportFrom) for one in node.names]
    return [(module, name) for module, name in [*plain, *taken] if module.split(".")[0] == "segvote"]


def is_public(module, name):
    return module in PUBLIC and (name is None or name in importlib.import_module(module).__all__)


def list_private(codes):
    """What code, by where it stands, imports that is not public."""
    return [(where, *one) for where, code in codes for one in list_imports(code) if not is_public(*one)]


# For those who add parts to segvote itself: its code stands inside the package.
INSIDE = {"architecture.md"}


def is_python(block):
    """By its language; an indented block has none, and is Python if it can be read as such."""
    try:
        ast.parse(block.code)
    except SyntaxError:
        return False
    return block.language in ("python", "")


def test_python_of_the_pages_imports_only_public_names():
    blocks = [(page.name, one) for page in PAGES if page.name not in INSIDE for one in list_blocks(page.read_text())]
    assert list_private([(name, block.code) for name, block in blocks if is_python(block)]) == []


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_of_the_gallery_runs(script):
    run_python(script)
