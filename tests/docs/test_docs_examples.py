"""The notebook and the gallery run from top to bottom, each in a process of its own."""

import ast
import importlib
import json
import os
import subprocess
import sys

import pytest
from markdown_pages import DOCS

SCRIPTS = sorted((DOCS / "gallery").glob("plot_*.py"))
TUTORIAL = DOCS / "tutorial.ipynb"
EXECUTE = """
import sys, nbformat, nbclient
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=200).execute()
"""


def run_python(*arguments):
    environment = {**os.environ, "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def list_code_cells():
    return [cell for cell in json.loads(TUTORIAL.read_text())["cells"] if cell["cell_type"] == "code"]


def test_the_tutorial_runs_from_top_to_bottom():
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    run_python("-c", EXECUTE, TUTORIAL)


def test_the_tutorial_is_stored_with_what_it_showed():
    cells = list_code_cells()
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert all(cell["outputs"] for cell in cells)
    assert TUTORIAL.stat().st_size < 1_000_000


def test_the_tutorial_is_the_one_that_is_written_down():
    pytest.importorskip("nbclient")
    code = "import sys; sys.path.insert(0, sys.argv[1]); import json, write_tutorial as w; print(json.dumps(w.CELLS))"
    written = json.loads(run_python("-c", code, DOCS / "_ext"))
    assert ["".join(cell["source"]) for cell in json.loads(TUTORIAL.read_text())["cells"]] == written


def test_the_tutorial_names_no_folder_of_the_machine_it_was_made_on():
    assert "/tmp/" not in TUTORIAL.read_text()
    assert "/home/" not in TUTORIAL.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_of_the_gallery_runs(script):
    run_python(script)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_of_the_gallery_can_be_read(script):
    text = script.read_text()
    compile(text, script.name, "exec")
    assert text.count("\n# %%\n") >= 2  # text and code in turn
    assert "shared/data" not in text


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_what_a_script_of_the_gallery_imports_exists(script):
    imports = [node for node in ast.walk(ast.parse(script.read_text())) if isinstance(node, ast.ImportFrom)]
    for node in imports:
        module = importlib.import_module(node.module)
        assert [one.name for one in node.names if not hasattr(module, one.name)] == []
