"""A package imports only those below it, and no import inside a function hides a cycle."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import segvote

# Highest first; names on one line do not import each other.
LAYERS = [
    ["cli", "integrations"],
    ["api"],
    ["review"],
    ["report"],
    ["evaluation", "opened_run"],
    ["pipeline"],
    ["run"],
    ["inputs", "datasets"],
    ["settings"],
    ["io"],
    ["voters"],
    ["method", "segmentation", "features", "masks", "metrics"],
    ["numerics"],
    ["limits", "types", "selection", "errors", "registry", "progress"],
]
RANKS = {name: rank for rank, names in enumerate(reversed(LAYERS)) for name in names}
ROOT = Path(segvote.__file__).parent


def name_module(path: Path) -> str:
    return ".".join(["segvote", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")


MODULES = {name_module(path): path for path in sorted(ROOT.rglob("*.py"))}


def list_targets(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "write imports in full"
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        return [name if name in MODULES else str(node.module) for name in names]
    return []


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def walk(node: ast.AST, with_types: bool) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if with_types or not is_for_types(child):
            yield child
            yield from walk(child, with_types)


def list_imports(with_types: bool) -> list[tuple[str, str]]:
    """Importer and imported, for segvote's own modules; those for type checkers alone on demand."""
    found = [
        (name, target)
        for name, path in MODULES.items()
        for node in walk(ast.parse(path.read_text()), with_types)
        for target in list_targets(node)
    ]
    return [(name, target) for name, target in found if target in MODULES and target != "segvote"]


def points_down(importer: str, imported: str) -> bool:
    here, there = importer.split(".")[1], imported.split(".")[1]
    return here == there or RANKS[there] < RANKS[here] or RANKS[there] == 0


def test_imports_point_down():
    found = [one for one in list_imports(with_types=True) if one[0] not in ("segvote", "segvote.__main__")]
    assert [one for one in found if not points_down(*one)] == []


def test_every_package_has_its_line():
    assert {name.split(".")[1] for name in MODULES if "." in name} - {"__main__"} == set(RANKS)


def test_modules_do_not_import_in_circles():
    graph: dict[str, set[str]] = {}
    for importer, imported in list_imports(with_types=False):
        graph.setdefault(importer, set()).add(imported)
    TopologicalSorter(graph).prepare()  # raises CycleError
