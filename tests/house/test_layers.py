"""Imports point down: a package imports those below it, never one beside or above it; and nothing hides a cycle."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import segvote

# Highest first; names on one line do not import each other.
LAYERS = [
    ["cli", "integrations"],
    ["_api"],
    ["review"],
    ["report"],
    ["evaluation"],
    ["steps"],
    ["run"],
    ["datasets"],
    ["io"],
    ["voters"],
    ["method", "segmentation", "features", "masks", "metrics"],
    ["kernels"],
    ["memory_budget", "plain_text", "types", "errors", "registry", "progress"],
]
RANKS = {name: rank for rank, names in enumerate(reversed(LAYERS)) for name in names}
# Who may import a module of segvote inside a function, and why. A cycle is no reason.
DEFERRED = {
    "segvote._api.opened": "the doctor and the server of the review page, which a run that is only read does without",
    "segvote.cli": "a command loads what it runs when it runs, so that help and completion are quick",
    "segvote.features.choose": "OpenCV, which the list of features does without",
    "segvote.features.networks.lite0": "onnx, which only building the network needs",
    "segvote.features.networks.vgg19": "onnx, which only building the network needs",
    "segvote.review": "starlette and uvicorn, which are optional",
    "segvote.segmentation.hierarchy": "higra, which only building a tree needs",
    "segvote.voters": "scikit-learn, which the names of voters do without",
    "segvote.steps.label_maps": "higra, which only published contour maps need",
}
ROOT = Path(segvote.__file__).parent


class Import(NamedTuple):
    importer: str
    imported: str
    deferred: bool


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


def walk_imports(node: ast.AST, inside: bool, with_types: bool) -> Iterator[tuple[str, bool]]:
    for child in ast.iter_child_nodes(node):
        if is_for_types(child) and not with_types:
            continue
        yield from ((target, inside) for target in list_targets(child))
        yield from walk_imports(child, inside or isinstance(child, ast.FunctionDef), with_types)


def list_imports(with_types: bool = False) -> list[Import]:
    """Imports of segvote's own modules; those for type checkers alone on demand."""
    return [
        Import(name, target, inside)
        for name, path in MODULES.items()
        for target, inside in walk_imports(ast.parse(path.read_text()), False, with_types)
        if target in MODULES and target != "segvote"
    ]


def find_layer(module: str) -> str:
    return module.split(".")[1]


def points_down(one: Import) -> bool:
    here, there = find_layer(one.importer), find_layer(one.imported)
    return here == there or RANKS[there] < RANKS[here] or RANKS[there] == 0


def test_imports_point_down():
    packages = [one for one in list_imports(with_types=True) if one.importer not in ("segvote", "segvote.__main__")]
    assert [f"{one.importer} imports {one.imported}" for one in packages if not points_down(one)] == []


def test_every_package_has_its_line():
    packages = {find_layer(name) for name in MODULES if "." in name}
    assert packages - {"__main__"} == set(RANKS)


def test_imports_inside_functions_have_a_listed_reason():
    strangers = [
        f"{one.importer} imports {one.imported}"
        for one in list_imports()
        if one.deferred and not any(f"{one.importer}.".startswith(f"{known}.") for known in DEFERRED)
    ]
    assert strangers == []


def test_no_import_inside_a_function_hides_a_cycle():
    graph: dict[str, set[str]] = {}
    for one in list_imports():
        graph.setdefault(one.importer, set()).add(one.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" imports ".join(reversed(error.args[1]))) from None
