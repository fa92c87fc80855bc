"""The images that the benchmark of many photographs makes, and what it reads from its samples."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
bench = pytest.importorskip("bench_images")


def test_no_two_images_have_the_same_content(scenes, tmp_path):
    bench.write_pool([scenes], tmp_path / "pool", 40)
    files = [path.read_bytes() for path in sorted((tmp_path / "pool").rglob("*.jpg"))]
    assert len(files) == len(set(files)) == 40
    bench.write_pool([scenes], tmp_path / "again", 40)
    assert files == [path.read_bytes() for path in sorted((tmp_path / "again").rglob("*.jpg"))]


def test_a_part_is_the_first_of_each_kind(scenes, tmp_path):
    bench.write_pool([scenes], tmp_path / "pool", 12)
    bench.take_part(tmp_path / "pool", tmp_path / "part", 8)
    names = [path.relative_to(tmp_path / "part").as_posix() for path in sorted((tmp_path / "part").rglob("*.jpg"))]
    assert names == [f"{bag_label}/{index:06}.jpg" for bag_label in ("with", "without") for index in range(4)]


def test_peaks_belong_to_the_step_in_which_they_were():
    samples = [(10.0, 2**30, 2**30), (11.0, 2**30, 3 * 2**30), (15.0, 2 * 2**30, 2 * 2**30)]
    log = [{"time": 9.5, "step": "start"}, {"time": 12.0, "step": "extract", "seconds": 2.0}]
    log += [{"time": 15.5, "step": "vote", "seconds": 3.0}, {"time": 15.6, "step": "decide", "seconds": 0.1}]
    peaks = bench.find_peaks(samples, log)
    assert peaks == {"peak_parent_gb": 2, "peak_all_gb": 3, "peak_extract_gb": 3, "peak_vote_gb": 2}


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").is_file(), reason="reads /proc")
def test_the_memory_of_a_process_is_read():
    assert os.getpid() in bench.list_tree(os.getpid())
    assert bench.read_memory(os.getpid()) > 10_000_000
    assert bench.read_memory(0) == 0


def test_goals_that_are_missed_are_told():
    row = {"n_images": 200, "images_per_second": 5, "extracted_per_second": 6, "peak_all_gb": 2, "peak_extract_gb": 1}
    slow = {**row, "n_images": 2000, "extracted_per_second": 3, "peak_all_gb": 3}
    assert all(bench.sum_up([row, row])["met"].values())
    met = {"rate_ratio": False, "total_rate_ratio": True, "extract_peak_ratio": True, "total_peak_ratio": False}
    assert bench.sum_up([row, slow])["met"] == met
    assert bench.sum_up([]) == {"sizes": [], "met": {}}
