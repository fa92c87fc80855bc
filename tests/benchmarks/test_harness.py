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


def test_no_two_changed_images_have_the_same_content(scenes, tmp_path):
    bench_runs.write_changed([scenes], tmp_path / "pool", 40)
    files = [path.read_bytes() for path in sorted((tmp_path / "pool").rglob("*.jpg"))]
    assert len(files) == len(set(files)) == 40


def test_some_images_are_linked_in_order(scenes, tmp_path):
    harness.link_images(scenes / "with", tmp_path / "part", start=1, stop=5, step=2)
    assert [path.name for path in sorted((tmp_path / "part").iterdir())] == ["with-001.png", "with-003.png"]


def test_the_least_of_several_times_is_taken():
    ticks = iter([0.0, 3.0, 3.0, 4.0, 4.0, 6.0])
    assert harness.take_least(lambda: None, 3, lambda: next(ticks)) == 1.0


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").is_file(), reason="reads /proc")
def test_the_memory_of_a_process_is_read():
    block = np.ones(5_000_000)
    assert os.getpid() in harness.list_tree(os.getpid())
    assert harness.read_memory() > block.nbytes
    assert harness.read_memory(0) == 0
