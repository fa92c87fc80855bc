"""The public face: sorted, true, documented, and quick to import."""

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import segvote
from segvote import EXPORTS, FEATURES, SEGMENTERS, VOTERS

DOCS = Path(__file__).parents[2] / "docs"
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(segvote.__path__, "segvote.")
    if not module.name.startswith("segvote.cli.") and module.name != "segvote.__main__"
)
HEAVY = (
    "dask",
    "distributed",
    "starlette",
    "uvicorn",
    "fastapi",
    "onnxruntime",
    "onnx",
    "numba",
    "av",
    "faiss",
    "sklearn",
    "cv2",
)


def rank_name(name):
    """Constants, then classes, then functions: the order that ruff keeps."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


@pytest.mark.parametrize("name", MODULES)
def test_public_names_are_sorted_and_exist(name):
    module = importlib.import_module(name)
    names = getattr(module, "__all__", None)
    if names is None:
        return
    assert list(names) == sorted(names, key=rank_name)
    assert len(set(names)) == len(names)
    assert all(hasattr(module, public) for public in names)


@pytest.mark.parametrize("name", MODULES)
def test_public_functions_and_classes_have_docstrings(name):
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", ()):
        value = getattr(module, public)
        if callable(value) and getattr(value, "__module__", "").startswith("segvote"):
            assert value.__doc__, f"{name}.{public} has no docstring"


def test_the_package_exports_what_it_says():
    assert segvote.__all__ == sorted(segvote.__all__) == dir(segvote)
    assert all(getattr(segvote, name) is not None for name in segvote.__all__)


def test_every_public_name_of_the_package_is_documented():
    text = (DOCS / "api.md").read_text()
    assert [name for name in segvote.__all__ if f"`{name}`" not in text] == []


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
    assert not set(loaded) & set(HEAVY)
