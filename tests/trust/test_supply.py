"""What segvote is made of and how it is handed out: licences, type information, a wheel that runs elsewhere."""

import os
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from commands import OPTIONS
from supply import EXTRAS, PROJECT, is_permissive, list_licences, list_oldest, list_wanted

ROOT = Path(__file__).parents[2]


def test_every_package_is_permissive(ledger):
    licences = list_licences()
    refused = {name: text for name, text in licences.items() if not is_permissive(text)}
    print(refused)
    assert len(licences) > 20
    ledger("licences of all packages, permissive", len(licences), len(refused))


def test_every_package_we_ask_for_is_listed_bounded_and_pinned():
    page = (ROOT / "docs" / "licences.md").read_text()
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    wanted = {one.partition(">=")[0].partition("[")[0].lower() for one in list_wanted(*EXTRAS, "dev")} - {"segvote"}
    assert PROJECT["optional-dependencies"]["all"] == [f"segvote[{','.join(EXTRAS)}]"]
    assert all("==" in line for line in [*lines, *list_oldest()]) and wanted <= pinned
    assert [one for one in list_wanted(*EXTRAS) if f"| {one.split('>=')[0].lower()} |" not in page] == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy of the sources."""
    source, target = tmp_path_factory.mktemp("source") / "segvote", tmp_path_factory.mktemp("wheel")
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", target, source]
    subprocess.run(command, check=True)  # by the hatchling of this environment, to need no network
    return next(target.glob("*.whl"))


def test_the_wheel_holds_the_sources_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = (path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert found == {path.relative_to(ROOT / "src").as_posix() for path in files}
    assert {"segvote/py.typed", "segvote/review/static/index.html"} <= found


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
    command = [tmp_path / "venv" / "bin" / "segvote", "annotate", *folders, *OPTIONS, "--jobs", "1"]
    subprocess.run(command, check=True, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    code = "import segvote, sys; print(segvote.__file__)"
    where = subprocess.run([python, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True).stdout
    masks = sorted((tmp_path / "out" / "masks" / "with").glob("*.png"))
    ledger("the wheel installed outside the checkout runs", 1, int(len(masks) != 3 or str(tmp_path) not in where))
