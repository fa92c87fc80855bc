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
    "torch",
    "transformers",
)


def rank_name(name):
    """Constants, then classes, then functions: the order that ruff keeps."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def list_public():
    """Module and the names it calls public: its list, or what it defines without an underscore."""
    modules = [(name, importlib.import_module(name)) for name in MODULES]
    return [(name, module, list(getattr(module, "__all__", list_own(module)))) for name, module in modules]


def list_own(module):
    """Functions and classes of a module that has no list, in the order of one."""
    names = [
        name
        for name, one in vars(module).items()
        if getattr(one, "__module__", None) == module.__name__ and callable(one)
    ]
    return sorted((name for name in names if not name.startswith("_")), key=rank_name)


def test_public_names_are_sorted_and_exist():
    wrong = [
        name
        for name, module, public in list_public()
        if public != sorted(set(public), key=rank_name) or not all(hasattr(module, one) for one in public)
    ]
    assert wrong == []


def test_public_functions_and_classes_have_docstrings():
    found = [(f"{name}.{one}", getattr(module, one)) for name, module, public in list_public() for one in public]
    ours = [
        (name, value)
        for name, value in found
        if callable(value) and getattr(value, "__module__", "").startswith("segvote")
    ]
    assert [name for name, value in ours if not value.__doc__] == []


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
