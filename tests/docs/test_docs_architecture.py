"""The three parts that docs/architecture.md adds work in segvote."""

import sys

from markdown_pages import DOCS, list_blocks

from segvote import EXPORTS, SEGMENTERS, VOTERS, Settings, annotate, export

PARTS = [block.code for block in list_blocks((DOCS / "architecture.md").read_text()) if block.language == "python"]
ADDED = (
    (VOTERS, "far-from-mean", "FarFromMean"),
    (SEGMENTERS, "squares", "segment_squares"),
    (EXPORTS, "boxes", "write_boxes"),
)


def test_the_parts_of_the_page_annotate_and_export(scenes, tmp_path, monkeypatch):
    (tmp_path / "added_parts.py").write_text("\n\n".join(PARTS))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "added_parts", raising=False)
    for registry, name, attribute in ADDED:
        monkeypatch.setitem(registry._parts, name, f"added_parts:{attribute}")
    settings = Settings(voter="far-from-mean", segmenter="squares", features="color", n_segments=40, size=160)
    run = annotate(scenes / "with", scenes / "without", tmp_path / "run", settings, n_jobs=1)
    lines = export(run.folder.path, "boxes").read_text().splitlines()
    assert lines[0].startswith("image,label,left")
    assert len({line.split(",")[0] for line in lines[1:]}) == 6  # boxes of every image with the object
