"""Workflows only call targets of the Makefile, and run no action that could change without a commit here."""

import re
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES}
JOBS = [(name, job) for name, one in WORKFLOWS.items() for job in one["jobs"].values()]
STEPS = [(name, step) for name, job in JOBS for step in job["steps"]]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def list_targets():
    """Names in the line .PHONY of the Makefile, all of which have a rule."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    names = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[1].split()
    assert [name for name in names if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []
    return names


def test_there_is_a_workflow_for_every_promise():
    assert sorted(WORKFLOWS) == ["benchmarks", "docs", "nightly", "release", "tests"]
    called = {step["run"].split()[1] for _, step in STEPS if "run" in step}
    assert {"lint", "test", "test-oldest", "test-nightly", "docs", "docs-links", "dist", "bench-ratio"} <= called


def test_every_command_is_a_target_of_the_makefile():
    commands = [step["run"] for _, step in STEPS if "run" in step]
    assert [one for one in commands if not re.fullmatch(r"make [a-z-]+( [A-Z_]+=[\w:/.-]+)*", one)] == []
    assert {one.split()[1] for one in commands} <= set(list_targets())


def test_every_action_is_pinned_by_commit_and_names_its_version():
    lines = [line.strip(" -") for path in FILES for line in path.read_text(encoding="utf-8").splitlines()]
    used = [line for line in lines if line.startswith("uses:")]
    assert len(used) == len([step for _, step in STEPS if "uses" in step]) > 0
    assert [line for line in used if not re.fullmatch(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []
    assert len({line.partition("@")[0] for line in used}) == len(set(used)), "one version of each action"


def test_every_job_ends_and_may_only_read():
    assert [name for name, one in WORKFLOWS.items() if one["permissions"] != {"contents": "read"}] == []
    assert [job for _, job in JOBS if not 0 < job["timeout-minutes"] <= 120] == []
    own = [(name, job["permissions"]) for name, job in JOBS if "permissions" in job]
    assert own == [("release", {"id-token": "write"})]


def test_every_claimed_python_is_tested_on_three_systems():
    matrix = WORKFLOWS["tests"]["jobs"]["test"]["strategy"]["matrix"]
    claimed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert matrix["python"] == claimed and PROJECT["requires-python"] == f">={claimed[0]}"
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]


def test_the_version_is_written_once():
    assert "version" in PROJECT["dynamic"] and "version" not in PROJECT
