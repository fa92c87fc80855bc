"""Adding a part as docs/architecture.md says works: its three files are added to a running segvote."""

import importlib
import sys

import pytest
from markdown_pages import DOCS, list_blocks
from sklearn.utils.estimator_checks import check_estimator

from segvote import EXPORTS, SEGMENTERS, VOTERS, Settings, annotate, export

PARTS = [block.code for block in list_blocks((DOCS / "architecture.md").read_text()) if block.language == "python"]


@pytest.fixture
def added(tmp_path, monkeypatch):
    """The parts of the page, importable and registered."""
    (tmp_path / "added_parts.py").write_text("\n\n".join(PARTS))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "added_parts", raising=False)
    for registry, name, attribute in (
        (VOTERS, "far-from-mean", "FarFromMean"),
        (SEGMENTERS, "squares", "segment_squares"),
        (EXPORTS, "boxes", "write_boxes"),
    ):
        monkeypatch.setitem(registry._parts, name, f"added_parts:{attribute}")
    return importlib.import_module("added_parts")


def test_the_parts_of_the_page_annotate_and_export(added, scenes, tmp_path):
    settings = Settings(voter="far-from-mean", segmenter="squares", features="color", n_segments=40, size=160)
    run = annotate(scenes / "with", scenes / "without", tmp_path / "run", settings, n_jobs=1)
    lines = export(run.folder.path, "boxes").read_text().splitlines()
    assert lines[0].startswith("image,label,left")
    assert len(lines) == 1 + 6  # a box for every image with the object


def test_the_voter_of_the_page_passes_scikit_learn_checks(added):
    check_estimator(added.FarFromMean(), on_skip=None)
