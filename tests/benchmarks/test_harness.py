"""The parts of a benchmark and its last line."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
harness = pytest.importorskip("harness")


def test_the_last_line_is_json(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench", "--quick", "--part", "b"])
    harness.run_parts("", {"a": lambda given: {}, "b": lambda given: {"jobs": given.jobs, "quick": given.quick}})
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"b": {"jobs": 2, "quick": True}}
