"""Python in the pages runs, on tiny scenes; what cannot is listed with the reason."""

import importlib
import re
import shutil
from types import SimpleNamespace

import pytest
from markdown_pages import PAGES, list_blocks

import segvote
from segvote import annotate, annotate_classes, predict, update
from segvote.datasets import make_bags, make_scenes, write_scenes
from segvote.run.run import Run
from segvote.settings import Settings

# Blocks that are only compiled, by page and a word of the block.
NOT_RUN = {
    ("datasets.md", "DATASETS["): "needs a data set that is not ours to give",
    ("compare.md", "segvote.compare("): "takes minutes; tests/pipeline compares on small scenes",
}
TINY = {"size": (96, 72), "object_area": (0.1, 0.2)}
QUICK = Settings(features="color", n_segments=40, size=96, label="cow")
CODE = [(page.name, block) for page in PAGES for block in list_blocks(page.read_text()) if block.language == "python"]


@pytest.fixture(scope="session")
def stage(tmp_path_factory):
    """A folder with everything that the pages' code names."""
    folder = tmp_path_factory.mktemp("pages")
    write_scenes(folder, make_scenes(n_with=4, n_without=5, **TINY))
    write_scenes(folder / "plates", make_scenes(n_with=3, n_without=0, seed=6, target="plate", **TINY))
    copies = {
        "with": ["photos/with", "ROOT/cow", "more/cows"],
        "without": ["photos/without", "NEW", "ROOT/none"],
        "plates/with": ["ROOT/aeroplane"],
    }
    for source, targets in copies.items():
        for target in targets:
            shutil.copytree(folder / source, folder / target)
    shutil.copy(folder / "with/with-003.png", folder / "with/blurred.jpg")
    annotate(folder / "with", folder / "without", folder / "out", QUICK, n_jobs=1)
    return folder


@pytest.fixture
def given(stage, tmp_path, monkeypatch):
    """Names that a page may take for granted, in a copy of the stage."""
    shutil.copytree(stage, tmp_path / "stage")
    monkeypatch.chdir(tmp_path / "stage")
    monkeypatch.setattr("segvote.api.Settings", lambda: QUICK)  # the defaults of annotate take half a minute
    for function in (annotate, annotate_classes, predict, update):
        # A block is no script: processes could not be started from it.
        monkeypatch.setitem(function.__kwdefaults__, "n_jobs", 1)
    X, y, bags, _ = make_bags(n_with=4, n_without=4, n_segments=20)
    names = {"X": X, "y": y, "bags": bags, "X_new": X[:3], "run": Run("out"), "image": Run("out").read_image(0)}
    return {"__name__": "__main__", "segvote": segvote, "pandas": SimpleNamespace(DataFrame=list), **names}


@pytest.mark.parametrize(("page", "block"), CODE, ids=[f"{page}:{block.line}" for page, block in CODE])
def test_python_in_the_pages_runs(page, block, given):
    code = compile(block.code, page, "exec")
    if any(name == page and word in block.code for name, word in NOT_RUN):
        return
    if "annotate" in block.code:
        shutil.rmtree("out")  # it makes its own
    exec(code, given)  # noqa: S102 - our own pages


def test_python_names_in_the_text_exist():
    names = re.compile(r"`(segvote(?:\.[A-Za-z_]\w*)+)")
    named = [(page.name, name) for page in PAGES for name in sorted(set(names.findall(page.read_text())))]
    assert [where for where in named if find_named(where[1]) is None] == []


def find_named(name):
    """The module, or what the module holds, or None; the longest part that can be imported decides."""
    head, _, last = name.rpartition(".")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return getattr(find_named(head), last, None)
