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
from audit import audit, judge
from licences import EXTRAS, is_permissive, list_licences
from oldest import list_oldest

import segvote

ROOT = Path(__file__).parents[2]


def test_every_package_is_permissive(ledger):
    licences = list_licences()
    assert len(licences) > 20
    ledger("licences of all packages, permissive", len(licences), sum(not check(one) for one in licences.items()))


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


def test_constraints_name_every_package_we_ask_for():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(one for name in (*EXTRAS, "dev") for one in project["optional-dependencies"][name]),
    ]
    names = {one.partition(">=")[0].partition("[")[0].lower() for one in wanted} - {"segvote"}
    assert all("==" in line for line in lines) and names <= pinned


def test_installed_packages_agree():
    subprocess.run([sys.executable, "-m", "pip", "check"], check=True, stdout=subprocess.DEVNULL)


FINE = {"name": "a", "version": "1", "vulns": []}
WEAK = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]}
UNKNOWN = {"name": "c", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "is_well"), [([FINE], True), ([FINE, WEAK], False), ([FINE, UNKNOWN], False), ([], False)]
)
def test_an_audit_that_looked_nothing_up_is_no_success(packages, is_well):
    lines, found = judge({"dependencies": packages})
    assert found == is_well and lines[-1].startswith(f"looked up {sum('vulns' in one for one in packages)} of")


def test_an_audit_without_an_answer_fails(monkeypatch, capsys):
    failed = subprocess.CompletedProcess([], 0, "", "no network")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **keywords: failed)
    assert audit("requirements.txt") == 1
    assert "nothing was looked up: no network" in capsys.readouterr().out


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
    ledger("the wheel installed outside the checkout runs", 1, int(len(masks) != 3 or str(tmp_path) not in where))
