"""The stage, a tiny run, and the ledger: with SEGVOTE_LEDGER=FILE every attempt is noted there, and the table of
docs/reliability.md is written from it at the end (`make trust`)."""

import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest
from commands import TINY, World
from stage import Stage

from segvote import annotate
from segvote.datasets import write_scenes

sys.path.append(str(Path(__file__).parents[1] / "features"))  # torch_writer

LEDGER, PAGE = os.environ.get("SEGVOTE_LEDGER"), Path(__file__).parents[2] / "docs" / "reliability.md"
START, END = "<!-- made by `make trust` -->\n", "<!-- end -->\n"


@pytest.fixture(scope="session")
def stage():
    stage = Stage()
    yield stage
    stage.close()


@pytest.fixture(scope="session")
def tiny_scenes(tmp_path_factory):
    """``with``, ``without`` and ``masks`` of three scenes each, 64 x 48 pixels."""
    folder = tmp_path_factory.mktemp("tiny")
    write_scenes(folder, n_with=3, n_without=3, size=(64, 48), object_area=(0.08, 0.16))
    return folder


@pytest.fixture(scope="session")
def tiny_run(tiny_scenes, tmp_path_factory):
    """A finished run on them; only for reading."""
    out = tmp_path_factory.mktemp("tiny-run") / "run"
    return annotate(tiny_scenes / "with", tiny_scenes / "without", out, TINY, n_jobs=1).folder.path


@pytest.fixture
def own_run(tiny_run, tmp_path):
    """A copy of the finished run that a test may change."""
    return Path(shutil.copytree(tiny_run, tmp_path / "run"))


@pytest.fixture
def world(tiny_scenes, tiny_run, tmp_path):
    (tmp_path / "own").mkdir()
    return World(tiny_scenes, tiny_run, tmp_path / "own")


@pytest.fixture
def ledger(request):
    """Call it with a row of the table, how often something was tried and how often it was lost; losses fail."""

    def note(row, tried, lost=0):
        if LEDGER:
            test = request.node.nodeid.split("[")[0].removeprefix("tests/trust/")
            entry = {"test": test, "row": row, "tried": tried, "lost": int(lost), "date": time.strftime("%Y-%m-%d")}
            with open(LEDGER, "a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        assert not lost, f"{row}: {lost} of {tried} lost"

    return note


def pytest_sessionfinish(session):
    is_worker = hasattr(session.config, "workerinput")  # several processes append, the one that started them writes
    if LEDGER and Path(LEDGER).exists() and not is_worker:
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(START)
        PAGE.write_text(before + START + format_table(Path(LEDGER)) + END + rest.partition(END)[2], encoding="utf-8")


def format_table(ledger):
    entries = [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]
    rows = {}
    for one in entries:
        tried, lost = rows.get((one["test"], one["row"]), (0, 0))
        rows[one["test"], one["row"]] = tried + one["tried"], lost + one["lost"]
    dates = sorted({one["date"] for one in entries})
    lines = [f"Tried on {dates[0]}" + (f" to {dates[-1]}." if dates[1:] else "."), ""]
    lines += ["| tried | times | survived | lost | test |", "|---|---:|---:|---:|---|"]
    lines += [
        f"| {row} | {n:,} | {n - lost:,} | {lost} | `{test}` |" for (test, row), (n, lost) in sorted(rows.items())
    ]
    total, lost = (sum(counts) for counts in zip(*rows.values(), strict=True))
    return "\n".join(["", *lines, f"| **all** | **{total:,}** | **{total - lost:,}** | **{lost}** | |", "", ""])
