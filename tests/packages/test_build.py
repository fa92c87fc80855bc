"""Recipes of packages of weights, built from made archives without any registry."""

import hashlib
import importlib.util
import os
import signal
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest

from segvote.features.networks.vgg import list_vgg_shapes
from segvote.features.networks.weights import EXTRAS

PACKAGES = Path(__file__).parents[2] / "packages"
RECIPE = """
folder = "segvote_made"
[[archives]]
client = "{client}"
name = "made"
version = "1.0"
sha256 = ""
files."part.bin" = {{ member = "package/part.bin", sha256 = "{sha256}" }}
[files]
"whole.onnx" = "{sha256}"
"""
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "segvote-made"
version = "0.1.0"
[project.entry-points."segvote.weights"]
made = "segvote_made"
[tool.hatch.build.targets.wheel]
include = ["segvote_made/*"]
"""
CONVERT = """
def convert(sources, target):
    (target / "whole.onnx").write_bytes((sources / "part.bin").read_bytes())
"""


def load(path):
    """A program that is no module of a package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build = load(PACKAGES / "build.py")


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """A recipe whose archive is a file of this test instead of one of a registry."""
    folder, archive = tmp_path / "made", tmp_path / "made.tgz"
    folder.mkdir()
    (tmp_path / "part.bin").write_bytes(b"weights")
    with tarfile.open(archive, "w:gz") as opened:
        opened.add(tmp_path / "part.bin", "package/part.bin")
    texts = {"pyproject.toml": PROJECT, "convert.py": CONVERT, "LICENSE": "free", "README.md": "made"}
    sha256 = hashlib.sha256(b"weights").hexdigest()
    for name, text in {**texts, "recipe.toml": RECIPE.format(client="made", sha256=sha256)}.items():
        (folder / name).write_text(text)
    monkeypatch.setitem(build.FETCH, "made", lambda *_: archive)
    return folder


def list_names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_wheel_holds_the_files_and_no_code(recipe, tmp_path):
    out = build.make_folder(tmp_path / "out")
    wheel = build.build_wheel(recipe, out)
    assert list_names(out) == [wheel.name]
    with zipfile.ZipFile(wheel) as archive:
        held = [name for name in archive.namelist() if ".dist-info/" not in name]
        assert held == ["segvote_made/whole.onnx"] and archive.read(held[0]) == b"weights"


@pytest.mark.parametrize("section", ["files.", "[files]"])
def test_other_content_ends_the_build(recipe, tmp_path, section):
    out, path = build.make_folder(tmp_path / "out"), recipe / "recipe.toml"
    sha256 = hashlib.sha256(b"weights").hexdigest()
    head, mark, rest = path.read_text().partition(section)
    path.write_text(head + mark + rest.replace(sha256, "0" * 64, 1))
    with pytest.raises(SystemExit, match="expected SHA-256 000"):
        build.build_wheel(recipe, out)
    assert list_names(out) == []


def test_a_lost_member_is_named(recipe, tmp_path):
    path = recipe / "recipe.toml"
    path.write_text(path.read_text().replace("package/part.bin", "package/other.bin"))
    with pytest.raises(SystemExit, match=r"expected the file package/other\.bin"):
        build.build_wheel(recipe, build.make_folder(tmp_path / "out"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_build_leaves_no_wheel(recipe, tmp_path, number):
    """Killed while it converts; the next build starts anew and leaves the wheel alone."""
    out = build.make_folder(tmp_path / "out")
    waiting = 'def convert(sources, target):\n    print("here", flush=True)\n    __import__("time").sleep(60)\n'
    (recipe / "convert.py").write_text(waiting)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import build; from pathlib import Path\n"
        "build.stop_cleanly(); build.FETCH['made'] = lambda *_: Path(sys.argv[4])\n"
        "build.build_wheel(Path(sys.argv[2]), Path(sys.argv[3]))\n"
    )
    command = [sys.executable, "-c", program, PACKAGES, recipe, out, tmp_path / "made.tgz"]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout.readline() == b"here\n"
        os.kill(process.pid, number)
    assert list(out.glob("*.whl")) == []
    (recipe / "convert.py").write_text(CONVERT)
    wheel = build.build_wheel(recipe, out)
    assert list_names(out) == [wheel.name]


def test_recipes_name_no_host_and_match_the_extras():
    project = tomllib.loads((PACKAGES.parent / "pyproject.toml").read_text())["project"]
    assert set(build.NAMES) == set(EXTRAS)
    for name, extra in EXTRAS.items():
        recipe, made = (
            tomllib.loads((PACKAGES / name / file).read_text()) for file in ("recipe.toml", "pyproject.toml")
        )
        assert "://" not in (PACKAGES / name / "recipe.toml").read_text()
        assert made["project"]["name"] == f"segvote-{name}"
        assert made["project"]["entry-points"]["segvote.weights"] == {name: recipe["folder"]}
        assert project["optional-dependencies"][extra][0].startswith(f"segvote-{name}>=")


def test_flax_arrays_become_those_of_torchvision():
    """A convolution by flax's kernel (row, column, in, out) is one by torchvision's (out, in, row, column)."""
    convert, rng = load(PACKAGES / "vgg16" / "convert.py"), np.random.default_rng(0)
    shapes = list(list_vgg_shapes("vgg16").values())
    buffers = [rng.random(size, np.float32) for shape in shapes for size in (int(np.prod(shape)), shape[0])]
    named = convert.name_arrays([*buffers, rng.random(64, np.float32)])
    assert len(named) == 26
    n_out, n_in, *_ = shapes[1]
    kernel = buffers[2].reshape(3, 3, n_in, n_out)
    assert named["features.2.weight"][5, 7, 0, 2] == kernel[0, 2, 7, 5]
    np.testing.assert_array_equal(named["features.2.bias"], buffers[3])


def test_offsets_of_cells_are_numbered_as_first_seen():
    convert, side = load(PACKAGES / "mobile-sam" / "convert.py"), 3
    cells, numbers = [(row, column) for row in range(side) for column in range(side)], {}
    expected = [numbers.setdefault((abs(a - c), abs(b - d)), len(numbers)) for a, b in cells for c, d in cells]
    np.testing.assert_array_equal(convert.number_offsets(side).ravel(), expected)


def test_batch_normalisation_is_folded_into_the_kernel():
    convert, rng = load(PACKAGES / "mobile-sam" / "convert.py"), np.random.default_rng(0)
    kernel, x = rng.random((2, 3), np.float32), rng.random(3, np.float32)
    norm = {name: rng.random(2, np.float32) + 1 for name in ("weight", "bias", "running_mean", "running_var")}
    folded = convert.fold_norms({"a.c.weight": kernel, **{f"a.bn.{name}": one for name, one in norm.items()}})
    scaled, bias = folded
    plain = (kernel @ x - norm["running_mean"]) / np.sqrt(norm["running_var"] + 1e-5) * norm["weight"] + norm["bias"]
    np.testing.assert_allclose(scaled @ x + bias, plain, rtol=1e-5)
