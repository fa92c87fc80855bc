"""The notebook and the gallery run from top to bottom, each in a process of its own."""

import ast
import importlib
import json
import os
import subprocess
import sys

import pytest
from markdown_pages import DOCS, PAGES, list_blocks

EXAMPLES = sorted((DOCS / "examples").glob("plot_*.py"))
SCRIPTS = [*EXAMPLES, *sorted((DOCS / "gallery").glob("plot_*.py"))]
PUBLIC = {"segvote", "segvote.datasets", "segvote.integrations", "segvote.metrics", "segvote.scaling"}
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


def list_imports(code):
    """Modules of segvote, and the names taken from them."""
    nodes = list(ast.walk(ast.parse(code)))
    plain = [(one.name, None) for node in nodes if isinstance(node, ast.Import) for one in node.names]
    taken = [(node.module, one.name) for node in nodes if isinstance(node, ast.ImportFrom) for one in node.names]
    return [(module, name) for module, name in [*plain, *taken] if module.split(".")[0] == "segvote"]


def assert_public(code):
    for module, name in list_imports(code):
        assert module in PUBLIC
        assert name is None or name in importlib.import_module(module).__all__


def test_the_tutorial_imports_only_public_names():
    assert_public("\n".join("".join(cell["source"]) for cell in list_code_cells()))


def test_there_are_eight_examples():
    assert len(EXAMPLES) == 8


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_of_the_gallery_imports_only_public_names(script):
    assert_public(script.read_text())


# For those who add parts to segvote itself: its code stands inside the package.
INSIDE = {"house.md"}


def is_python(block):
    """By its language; an indented block has none, and is Python if it can be read as such."""
    try:
        ast.parse(block.code)
    except SyntaxError:
        return False
    return block.language in ("python", "")


@pytest.mark.parametrize("page", [one for one in PAGES if one.name not in INSIDE], ids=lambda page: page.name)
def test_python_of_a_page_imports_only_public_names(page):
    for block in list_blocks(page.read_text()):
        if is_python(block):
            assert_public(block.code)


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
