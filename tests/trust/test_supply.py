"""What segvote is made of and how it is handed out: licences, type information, a wheel that runs elsewhere."""

import os
import shutil
import site
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import oldest
import pytest
from licences import EXTRAS, is_permissive, list_licences
from oldest import list_oldest

import segvote

ROOT = Path(__file__).parents[2]


def test_every_package_is_permissive(ledger):
    licences = list_licences()
    assert len(licences) > 20
    ledger.note("licences of all packages, permissive", len(licences), sum(not check(one) for one in licences.items()))


def check(item):
    if not is_permissive(item[1]):
        print(*item)
    return is_permissive(item[1])


def test_the_page_of_licences_names_every_package_we_ask_for():
    page = (ROOT / "docs" / "licences.md").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for wanted in [*project["dependencies"], *(one for name in EXTRAS for one in extras[name])]:
        assert f"| {wanted.split('>=')[0].lower()} |" in page


def test_the_extras_that_are_looked_at_are_all_that_users_install():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["all"] == [f"segvote[{','.join(EXTRAS)}]"]
    assert oldest.EXTRAS == EXTRAS


def test_every_dependency_has_a_lower_bound():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert all("==" in one for one in list_oldest(project))


def test_type_information_is_shipped():
    assert (Path(segvote.__file__).parent / "py.typed").is_file()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy of the sources."""
    source, target = tmp_path_factory.mktemp("source") / "segvote", tmp_path_factory.mktemp("wheel")
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(target), str(source)]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode:
        pytest.skip(f"no wheel can be built here: {built.stderr[-200:]}")
    return next(target.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_the_page_and_the_types(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "segvote/py.typed" in names and "segvote/review/static/index.html" in names
    assert not [name for name in names if name.startswith("tests")]


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_the_wheel_runs_in_an_empty_environment(wheel, tiny_scenes, tmp_path, ledger):
    """A new environment outside the checkout; the other packages are those of this one, to need no network."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel], check=True)
    place = next((tmp_path / "venv" / "lib").glob("python*")) / "site-packages" / "others.pth"
    place.write_text("\n".join(site.getsitepackages()) + "\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    folders = [tiny_scenes / "with", tiny_scenes / "without", "-o", tmp_path / "out"]
    small = ["--features", "color", "--n-segments", "12", "--size", "64", "--jobs", "1"]
    command = [tmp_path / "venv" / "bin" / "segvote", "annotate", *folders, *small]
    subprocess.run(command, check=True, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    code = "import segvote, sys; print(segvote.__file__)"
    where = subprocess.run([python, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True).stdout
    masks = sorted((tmp_path / "out" / "masks" / "with").glob("*.png"))
    ledger.note("the wheel installed outside the checkout runs", 1, int(len(masks) != 3 or str(tmp_path) not in where))
