"""Work on many items, by threads and processes."""

import os
import subprocess
import sys
import time

import pytest

from segvote.pipeline.workers import Resources, run_on_all


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_give_results_in_order(n_jobs):
    def wait(item):
        time.sleep(0.002 * (item % 3))
        return item

    assert list(run_on_all(wait, range(20), Resources(n_jobs), in_threads=True)) == list(range(20))
    assert list(run_on_all(wait, [], Resources(n_jobs), in_threads=True)) == []


def test_a_stop_does_not_wait_for_all():
    begun = []
    results = run_on_all(begun.append, range(1000), Resources(2), in_threads=True)
    next(results)
    results.close()
    assert len(begun) < 10


def test_an_error_of_a_thread_is_ours():
    def fail(item):
        raise ValueError(f"{item} is bad")

    with pytest.raises(ValueError, match="0 is bad"):
        list(run_on_all(fail, range(8), Resources(2), in_threads=True))


def test_relative_paths_are_those_of_the_current_folder(tmp_path, monkeypatch):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        items = ["."] * 8
        assert list(run_on_all(os.path.abspath, items, Resources(2))) == [str(tmp_path / name)] * 8


def test_importing_sets_no_filter_for_warnings_of_workers():
    code = (
        "import warnings, segvote.pipeline.workers; print(any('worker stopped' in str(f[1]) for f in warnings.filters))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
