"""Public names: sorted, documented, quick to import."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import segvote
from segvote import EXPORTS, FEATURES, SEGMENTERS, VOTERS

DOCS = Path(__file__).parents[2] / "docs"
HEAVY = {
    *("dask", "distributed", "starlette", "uvicorn", "fastapi", "onnxruntime", "onnx", "av", "faiss"),
    *("sklearn", "cv2", "torch", "transformers"),
}


def test_every_public_name_can_be_imported():
    assert segvote.__all__ == sorted(segvote.__all__) == dir(segvote)
    assert all(getattr(segvote, name) is not None for name in segvote.__all__)


def test_every_public_name_has_a_page_made_from_its_docstring():
    listed = {line.strip() for line in (DOCS / "api.md").read_text().splitlines() if line.startswith("   ")}
    assert [name for name in segvote.__all__ if name not in listed] == []


@pytest.mark.parametrize(
    ("page", "registry"),
    [("voters", VOTERS), ("segmenters", SEGMENTERS), ("features", FEATURES), ("exports", EXPORTS)],
)
def test_every_registry_entry_has_its_documentation_row(page, registry):
    headings = re.findall(r"^#{2,3} `?([^`\n]+?)`?\s*$", (DOCS / f"{page}.md").read_text(), re.MULTILINE)
    assert [name for name in registry if name not in headings] == []


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, segvote; print(*[m for m in sys.modules if '.' not in m])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(loaded) & HEAVY
