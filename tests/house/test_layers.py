"""Imports point down: a layer may import the layers below it, never one beside or above it."""

import ast
from pathlib import Path

import pytest

import segvote

# Highest first; names on one line are siblings and do not know each other.
LAYERS = [
    ["cli", "integrations"],
    ["_api"],
    ["review"],
    ["report"],
    ["evaluation"],
    ["scaling"],
    ["steps"],
    ["run"],
    ["datasets"],
    ["io"],
    ["method", "voters", "segmentation", "features", "masks", "metrics"],
    ["kernels"],
    ["memory_budget", "plain_text", "types", "errors", "registry", "progress"],
]
RANKS = {name: rank for rank, names in enumerate(reversed(LAYERS)) for name in names}
ROOT = Path(segvote.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


def find_layer(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def list_imported_layers(path: Path) -> set[str]:
    layers = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        layers |= {name.split(".")[1] for name in names if name.startswith("segvote.")}
    return layers - {"__version__"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path):
    layer = find_layer(path)
    if layer in ("__init__", "__main__"):
        return
    for imported in list_imported_layers(path) - {layer}:
        below = RANKS[imported] < RANKS[layer]
        base = RANKS[imported] == 0
        assert below or base, f"{path.relative_to(ROOT)} ({layer}) imports {imported}, which is not below it"
