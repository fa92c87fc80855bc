"""Workers of a Dask scheduler write the bytes that one machine writes, also when one of them is killed."""

import os
import signal
import sys
from pathlib import Path

import pytest

import segvote
from segvote.errors import BadInputError, MissingPartError, SegvoteError
from segvote.pipeline import cluster as dask_map
from segvote.pipeline.workers import Resources, run_on_all
from segvote.settings import Settings

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
# Dask closes the sockets of processes that were shut down later than the test ends.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

# Those of the finished run.
QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})
RESULTS = ("masks", "heatmaps", "votes", "segments", "features", "model")


@pytest.fixture(scope="module")
def cluster():
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": 0, "silence_logs": 50}
    patience = dask.config.set({"distributed.comm.timeouts.connect": "60s"})  # a busy machine is slow
    with patience, distributed.LocalCluster(n_workers=2, host="127.0.0.1", **options) as started:
        yield started


@pytest.fixture(scope="module")
def address(cluster):
    return cluster.scheduler_address


def read_files(folder: Path) -> dict[str, bytes]:
    files = [path for name in RESULTS for path in (folder / name).rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files if path.name[0] != "."}


def test_workers_write_the_same_bytes(address, scenes, finished_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # workers were started elsewhere
    segvote.annotate(scenes / "with", scenes / "without", "out", QUICK, scheduler=address)
    found = read_files(tmp_path / "out")
    assert any(name.startswith("masks") for name in found)
    assert found == read_files(finished_run.folder.path)


def test_results_and_errors_come_from_other_processes(address):
    found = list(run_on_all(lambda item: (item, os.getpid()), range(30), Resources(scheduler=address)))
    assert [item for item, _ in found] == list(range(30))
    assert os.getpid() not in {process for _, process in found}
    assert list(run_on_all(abs, [], Resources(scheduler=address))) == []

    def fail(item):
        raise BadInputError(f"not {item}")

    with pytest.raises(BadInputError, match="not 1"):
        list(run_on_all(fail, [1], Resources(scheduler=address)))


def test_the_work_of_a_killed_worker_is_done_again(address, tmp_path):
    def work(item):
        if item == 3 and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    assert list(run_on_all(work, range(12), Resources(scheduler=address))) == list(range(12))
    assert (tmp_path / "killed").exists()


@pytest.fixture(params=[1, 2, 7])
def size(request, monkeypatch):
    """Every batch has so many items."""
    monkeypatch.setattr(dask_map.BatchSizes, "choose", lambda sizes, n_left, n_threads: request.param)
    return request.param


def test_the_same_bytes_for_any_size_of_batches(size, address, scenes, finished_run, tmp_path):
    segvote.annotate(scenes / "with", scenes / "without", tmp_path / "out", QUICK, scheduler=address)
    assert read_files(tmp_path / "out") == read_files(finished_run.folder.path)


def test_an_error_ends_the_call_at_its_item(size, address):
    def fail(item):
        if item in (9, 11):
            raise BadInputError(f"not {item}")
        return item

    results = run_on_all(fail, range(20), Resources(scheduler=address))
    assert [next(results) for _ in range(9)] == list(range(9))
    with pytest.raises(BadInputError, match="not 9"):
        next(results)


def test_an_item_that_kills_workers_ends_the_call(address, cluster, monkeypatch, tmp_path):
    monkeypatch.setattr(dask_map.BatchSizes, "choose", lambda sizes, n_left, n_threads: 3)
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)

    def work(item):
        if item == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    results = run_on_all(work, range(6), Resources(scheduler=address))
    with pytest.raises(SegvoteError, match=r"several workers of .* died at the same item"):
        list(results)
    with distributed.Client(address, set_as_default=False) as client:
        client.wait_for_workers(2)


def test_a_killed_worker_does_finished_items_once(size, address, tmp_path):
    class Work:
        """Notes each item that it does; kills its process once."""

        def __call__(self, item):
            if item == 8 and not (tmp_path / "killed").exists():
                (tmp_path / "killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            with (tmp_path / f"{item}").open("a") as file:
                file.write("x")
            return item

        def find_finished(self, items):
            done = [(tmp_path / f"{item}").exists() for item in items]
            return list(items)[: (*done, False).index(False)]

    assert list(run_on_all(Work(), range(20), Resources(scheduler=address))) == list(range(20))
    assert [len((tmp_path / f"{item}").read_text()) for item in range(20)] == [1] * 20


def test_few_items_are_submitted_at_a_time(address, monkeypatch):
    submitted, submit = [], distributed.Client.submit

    def note(client, *given, **options):
        submitted.append(given)
        return submit(client, *given, **options)

    monkeypatch.setattr(distributed.Client, "submit", note)
    results = run_on_all(abs, range(100), Resources(scheduler=address))
    assert next(results) == 0
    assert len(submitted) <= 1 + 2 * dask_map.AHEAD
    assert list(results) == list(range(1, 100))


def test_workers_with_other_versions_are_refused(address, monkeypatch):
    def differ(self, check, packages):
        raise ValueError("Mismatched versions found\n\nnumpy 0.1")

    monkeypatch.setattr(distributed.Client, "get_versions", differ)
    with pytest.raises(BadInputError, match=r"got: Mismatched versions found numpy 0\.1; start"):
        list(run_on_all(abs, [1], Resources(scheduler=address)))


def test_a_missing_scheduler_is_one_line(monkeypatch):
    monkeypatch.setattr(dask_map, "PATIENCE", 0.5)
    with pytest.raises(BadInputError, match="start them: dask scheduler"):
        list(run_on_all(abs, [1], Resources(scheduler="tcp://127.0.0.1:9")))


def test_without_dask_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingPartError, match=r"pip install 'segvote\[dask\]'"):
        list(run_on_all(abs, [1], Resources(scheduler="tcp://127.0.0.1:9")))
