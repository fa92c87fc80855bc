"""Workers of Dask write the bytes that one machine writes, also when one of them is killed."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from segvote.errors import BadInputError, MissingPartError, SegvoteError
from segvote.kernels import Workspace, approximate, neighbours, search_with_recall
from segvote.run.settings import Settings
from segvote.scaling import cluster as cluster_module
from segvote.scaling import open_cluster
from segvote.steps.annotate import annotate
from segvote.steps.prediction.predict import predict
from segvote.steps.resources import Resources
from segvote.steps.workers import run_on_all

pytest.importorskip("distributed")
# Sockets of processes that are shut down are closed by Dask when it gets to it.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

# Those of the finished run.
QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})
RESULTS = ("masks", "heatmaps", "votes", "segments", "features", "model")


@pytest.fixture(scope="module")
def cluster():
    with open_cluster(n_workers=2) as workers:
        yield workers


@pytest.fixture(scope="module")
def expected(finished_run):
    return read_files(finished_run.folder.path)


def read_files(folder: Path) -> dict[str, bytes]:
    files = [path for name in RESULTS for path in (folder / name).rglob("*") if path.is_file()]
    # A worker that is killed while it writes leaves a hidden file behind; the next command on the folder removes it.
    files = [path for path in files if not path.name.startswith(".tmp-")]
    files += [folder / "annotations.coco.json", folder / "run.json"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def kill_one(cluster) -> None:
    os.kill(next(iter(cluster.client.run(os.getpid).values())), signal.SIGKILL)


def test_two_workers_write_the_same_bytes_as_one_process(cluster, scenes, tmp_path, expected):
    steps = []
    folders = scenes / "with", scenes / "without", tmp_path / "run"
    annotate(*folders, QUICK, parallel_map=cluster.map, progress=lambda *step: steps.append(step))
    assert read_files(tmp_path / "run") == expected
    # One bar for all workers, from nothing to everything.
    segmented = [done for step, done, _ in steps if step == "segment and extract features"]
    assert segmented == list(range(13))


def test_a_worker_killed_in_the_middle_changes_nothing(cluster, scenes, tmp_path, expected):
    killed = []

    def kill_at_the_third(step, done, total):
        if done == 3 and step not in ("vote", *killed):
            killed.append(step)
            kill_one(cluster)

    folders = scenes / "with", scenes / "without", tmp_path / "run"
    annotate(*folders, QUICK, parallel_map=cluster.map, progress=kill_at_the_third)
    assert killed == ["segment and extract features", "write masks"]
    assert read_files(tmp_path / "run") == expected


@pytest.mark.parametrize("is_killed", [False, True])
@pytest.mark.parametrize("pairs", [0, np.inf], ids=["approximate", "exact"])
def test_workers_find_the_neighbours_that_one_process_finds(pairs, is_killed, cluster, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 150))[rng.integers(40, size=3000)] + 0.3 * rng.normal(size=(3000, 150))
    X, bags = X.astype(np.float32), np.arange(3000) // 20
    monkeypatch.setattr(neighbours, "EXACT_PAIRS", pairs)
    for module, name in ((approximate, "QUERIES_AT_ONCE"), (neighbours, "QUERIES_PER_BLOCK")):
        monkeypatch.setattr(module, name, 400)
    blocks = []

    def work(function, items):
        for item, result in zip(items, cluster.map(function, items), strict=True):
            if is_killed and len(blocks) == 1:
                kill_one(cluster)
            blocks.append(item)
            yield result

    near = search_with_recall(X, X, 10, bags, bags)
    far = search_with_recall(X, X, 10, bags, bags, Workspace(tmp_path, work))
    assert len(blocks) == 8
    assert all(np.array_equal(a, b) for a, b in zip(near, far, strict=True))


def test_images_never_seen_are_predicted_alike(cluster, finished_run, scenes, tmp_path):
    predict(finished_run.folder.path, scenes / "with", tmp_path / "near", n_jobs=1)
    predict(finished_run.folder.path, scenes / "with", tmp_path / "far", parallel_map=cluster.map)
    near, far = (read_all(tmp_path / name) for name in ("near", "far"))
    assert near == far and any(name.endswith(".png") for name in near)


def read_all(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "log.jsonl"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_results_come_in_the_order_of_the_items(cluster):
    sleep = time.sleep
    assert list(cluster.map(lambda i: (sleep(0.02 * (i % 3)), i)[1], range(70))) == list(range(70))


def test_an_error_of_segvote_arrives_as_it_was_raised(cluster):
    def fail(item):
        raise BadInputError(f"not {item}")

    with pytest.raises(BadInputError, match="not 1"):
        list(cluster.map(fail, [1]))


def test_workers_work_in_the_place_of_this_process(cluster):
    assert os.getpid() not in run_on_all(lambda _: os.getpid(), range(4), Resources(1, parallel_map=cluster.map))
    assert set(run_on_all(lambda _: os.getpid(), range(4), Resources(1))) == {os.getpid()}


def test_workers_with_other_versions_are_refused(cluster, monkeypatch):
    monkeypatch.setattr(cluster_module, "list_versions", lambda: {"numpy": "0.1"})
    with pytest.raises(BadInputError, match=r"has numpy .* \(here 0\.1\)"):
        cluster.check_versions()


def test_workers_that_do_not_see_a_folder_are_refused(cluster, tmp_path, monkeypatch):
    (tmp_path / "with").mkdir()
    (tmp_path / "with" / "a.jpg").touch()
    cluster.check_folders([tmp_path / "with", tmp_path / "new" / "out"])
    assert [path.name for path in tmp_path.rglob("*")] == ["with", "a.jpg"]
    monkeypatch.setattr(cluster_module, "_exists", lambda path: not path.endswith("a.jpg"))
    cluster.check_folders([tmp_path / "new"])
    with pytest.raises(BadInputError, match=r"see .*with; tls.* does not\. Mount it there"):
        cluster.check_folders([tmp_path / "with"])


def test_ctrl_c_is_for_the_one_who_asked_and_not_for_workers(cluster):
    handlers = cluster.client.run(signal.getsignal, signal.SIGINT)
    assert set(handlers.values()) == {signal.SIG_IGN}


def test_there_is_a_dashboard(cluster):
    assert cluster.dashboard.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("arguments", [{}, {"n_workers": 2, "scheduler": "tcp://127.0.0.1:1"}])
def test_workers_or_a_scheduler_not_both(arguments):
    with pytest.raises(BadInputError, match="give one"), open_cluster(**arguments):
        pass


def test_a_scheduler_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(cluster_module, "PATIENCE", 0.5)
    with pytest.raises(BadInputError, match="start one: dask scheduler"), open_cluster(scheduler="tcp://127.0.0.1:9"):
        pass


def test_without_dask_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingPartError, match=r"pip install 'segvote\[dask\]'"), open_cluster(n_workers=2):
        pass


def test_a_bag_that_kills_every_worker_is_an_error_not_a_loop(monkeypatch):
    from distributed import KilledWorker

    class Future:
        status = "error"

        def result(self, timeout):
            raise KilledWorker("task", None, 3)

    with pytest.raises(SegvoteError, match="lack memory"):
        cluster_module.Cluster(None)._wait(Future())


class LateFuture:
    """Ends in the moment after somebody stopped waiting for it."""

    def __init__(self, status, end):
        self.status, self._next, self._end = "pending", status, end

    def result(self, timeout):
        if self.status == "pending":
            self.status = self._next
            raise TimeoutError("timed out after 5 s.")
        return self._end()


@pytest.fixture
def counted(monkeypatch):
    monkeypatch.setattr(cluster_module.Cluster, "_count_threads", lambda self: 2)
    return cluster_module.Cluster(None)


def test_a_result_that_comes_as_the_wait_ends_is_taken(counted):
    assert counted._wait(LateFuture("finished", lambda: 7)) == 7


def test_an_error_of_the_bag_that_is_a_timeout_is_raised(counted):
    def fail():
        raise TimeoutError("the bag's own")

    with pytest.raises(TimeoutError, match="own"):
        counted._wait(LateFuture("error", fail))


def test_strangers_cannot_give_work_to_workers_of_our_own(cluster):
    """Without the keys of this run nobody gets in, with keys of their own neither."""
    from distributed import Client, Security

    address = cluster.client.scheduler.address
    assert address.startswith("tls://127.0.0.1:")
    workers = list(cluster.client.scheduler_info()["workers"])
    assert workers and all(worker.startswith("tls://") for worker in workers)
    for other, keys in ((address.replace("tls", "tcp"), None), (address, Security.temporary())):
        with pytest.raises(OSError):
            Client(other, timeout=2, security=keys, set_as_default=False)


@pytest.fixture
def lonely():
    """A scheduler without a worker."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=None, silence_logs=logging.CRITICAL) as scheduler,
        Client(scheduler, set_as_default=False) as client,
    ):
        yield cluster_module.Cluster(client)


def test_a_scheduler_whose_workers_are_all_gone_is_not_waited_for_for_ever(lonely, monkeypatch):
    monkeypatch.setattr(cluster_module, "PATIENCE", 0.2)
    monkeypatch.setattr(cluster_module, "LOOK_EVERY", 0.1)
    with pytest.raises(SegvoteError, match="no worker of Dask is left"):
        list(lonely.map(str, [1]))


def test_a_scheduler_that_is_gone_is_told_in_one_line(lonely, monkeypatch):
    monkeypatch.setattr(cluster_module, "LOOK_EVERY", 0.1)

    def close_and_count():
        lonely.client.cluster.close()
        return 1

    monkeypatch.setattr(lonely, "_count_threads", close_and_count)  # asked while a task is waited for
    with pytest.raises(SegvoteError, match="scheduler is gone"):
        list(lonely.map(str, [1]))


@pytest.mark.slow
def test_a_scheduler_and_workers_of_their_own_write_the_same_bytes(scenes, tmp_path):
    file = tmp_path / "scheduler.json"
    # In another folder than this process: what they are sent has to name files in full.
    quiet = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file), "--nthreads", "1"]
    processes = [subprocess.Popen([*dask, "--no-dashboard", "--scheduler-file", str(file)], **quiet)]
    try:
        while not file.exists() or not file.read_text():
            time.sleep(0.1)
        processes += [subprocess.Popen([*worker, "--no-dashboard"], **quiet) for _ in range(2)]
        address = json.loads(file.read_text())["address"]
        call_annotate(scenes, "far", "--scheduler", address, cwd=tmp_path)
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(30)
    call_annotate(scenes, "near", "--jobs", "1", cwd=tmp_path)
    assert read_files(tmp_path / "far") == read_files(tmp_path / "near")


def call_annotate(scenes, out, *options, cwd):
    command = [sys.executable, "-m", "segvote", "annotate", str(scenes / "with"), str(scenes / "without"), "-o", out]
    command += ["--features", "color", "--n-segments", "40", "--size", "160", *options]
    subprocess.run(command, check=True, cwd=cwd, stdout=subprocess.DEVNULL)


def test_workers_that_die_at_their_start_are_told_in_one_line(monkeypatch):
    import distributed

    def fail(**options):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", fail)
    with pytest.raises(SegvoteError, match="could not be started"), open_cluster(n_workers=1):
        pass
