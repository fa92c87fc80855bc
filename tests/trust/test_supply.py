"""Licences of the packages, pinned versions, and the content of the wheel."""

import shutil
import subprocess
import sys
import zipfile

import pytest
from supply import EXTRAS, PERMISSIVE, PROJECT, REFUSED, ROOT, list_disagreements, list_licences, list_wanted

from segvote import __version__


def test_every_package_is_permissive():
    licences = list_licences()
    assert len(licences) > 20
    assert {name: one for name, one in licences.items() if not PERMISSIVE.search(one) or REFUSED.search(one)} == {}


def test_every_required_package_is_listed_bounded_and_pinned():
    page = (ROOT / "docs" / "licences.md").read_text()
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    wanted = {one.partition(">=")[0].partition("[")[0].lower() for one in list_wanted(*EXTRAS, "dev")} - {"segvote"}
    assert PROJECT["optional-dependencies"]["all"] == [f"segvote[{','.join(EXTRAS)}]"]
    assert all(">=" in one for one in list_wanted(*EXTRAS)) and all("==" in line for line in lines)
    assert wanted <= pinned
    assert [one for one in list_wanted(*EXTRAS) if f"| {one.split('>=')[0].lower()} |" not in page] == []


def test_the_wheel_holds_the_sources_and_nothing_else(tmp_path):
    for name in ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    options = ["-q", "--no-deps", "--no-build-isolation", "-w", tmp_path]  # no network: this environment's hatchling
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, tmp_path], check=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = (path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert found == {path.relative_to(ROOT / "src").as_posix() for path in files}
    assert {"segvote/py.typed", "segvote/review/static/index.html"} <= found


def test_the_citation_has_the_version_of_the_package():
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.parametrize(
    ("tag", "citation", "heading", "reason"),
    [
        (f"v{__version__}", __version__, f"[{__version__}] - 2030-01-31", None),
        ("v9.9.9", __version__, f"[{__version__}] - 2030-01-31", "got 9.9.9 in the tag"),
        (f"v{__version__}", "9.9.9", f"[{__version__}] - 2030-01-31", "got 9.9.9 in CITATION.cff"),
        (f"v{__version__}", __version__, "[9.9.9] - 2030-01-31", "got 9.9.9 in CHANGELOG.md"),
        (f"v{__version__}", __version__, f"[{__version__}] - Unreleased", "date of the release"),
    ],
)
def test_a_release_needs_one_version_everywhere(tag, citation, heading, reason):
    found = list_disagreements(tag, f"a: b\nversion: {citation}\n", f"# Changelog\n\n## {heading}\n")
    assert (found == []) if reason is None else (len(found) == 1 and reason in found[0])
