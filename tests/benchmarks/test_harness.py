"""What the benchmarks share, and the images that they make."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
harness = pytest.importorskip("harness")
bench_runs = pytest.importorskip("bench_runs")


def test_the_last_line_is_json(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench", "--quick", "--part", "b"])
    harness.run_parts("", {"a": lambda given: {}, "b": lambda given: {"jobs": given.jobs, "quick": given.quick}})
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"b": {"jobs": 2, "quick": True}}


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").is_file(), reason="reads /proc")
def test_the_memory_of_a_process_is_read():
    block = np.ones(5_000_000)
    assert os.getpid() in harness.list_tree(os.getpid())
    assert harness.read_memory() > block.nbytes
    assert harness.read_memory(0) == 0
