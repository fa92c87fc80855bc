"""Runs from store to store on Dask: throughput, bytes through the scheduler, memory, faults; last line JSON.

    python benchmarks/bench_cluster.py [--quick] [--part workers]

Synthetic images lie in a server on this machine that speaks the protocol of S3 (moto, of the extra ``s3-test``). The
server, the scheduler, each worker and the client are processes of their own. The scheduler counts the bytes of all its
connections. Work is measured in CPU seconds of the workers: on one machine more workers than cores take no less time.

scheduler: CPU seconds of a scheduler with idle workers, and for tasks and items that do nothing, without a store;
workers: 1, 2 and 4 workers on the same images; memory: 1 worker, 1,000 and 10,000 images; predict: `predict` by the
model of that run, 1 worker; faults: a worker killed every few seconds of work, 5 % of all requests answered by 503, and
the client killed once and continued with an empty cache. Each run must leave the bytes of a run on local folders.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import psutil

from harness import Given, run_parts
from segvote.datasets import make_scenes, write_scenes
from segvote.errors import SegvoteError
from segvote.io.objects import Store
from segvote.pipeline.cluster import BatchSizes
from segvote.pipeline.workers import Resources, run_on_all

SIDES = (96, 72)
OPTIONS = ("--features", "color", "--n-segments", "20", "--size", "96", "--draw", "regions")
N_IMAGES, N_WORKERS = 2_000, (1, 2, 4)
SIZES = (1_000, 10_000)
N_TASKS, IDLE_SECONDS = 500, 30.0
N_FAULTY, FAILING = 400, 0.05  # images; share of requests
# A worker is killed after so many seconds and tasks: on a busy machine it takes longer than that to start.
KILL_EVERY, KILL_AFTER = 5.0, 10
QUICK_IMAGES, QUICK_SIZES, QUICK_FAULTY = 100, (100, 400), 100
SAME = ("annotations.coco.json", "features/", "heatmaps/", "masks/", "model/", "predictions.csv", "segments/", "votes/")
EXTRACTED = ("features/", "segments/")  # not kept in a store by `predict`
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "made",
    "AWS_SECRET_ACCESS_KEY": "up",
    "AWS_DEFAULT_REGION": "us-east-1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "DASK_LOGGING__DISTRIBUTED": "error",
    # Workers are killed on purpose.
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "100",
}


# Processes ------------------------------------------------------------------------------------------------------------


def serve_store(port: int, failing: float) -> None:
    """Serve S3, and answer a share of the requests by 503."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    serve, rng = DomainDispatcherApplication(create_backend_app), random.Random(0)

    def answer(environ: Any, start_response: Any) -> Any:
        if rng.random() >= failing:
            return serve(environ, start_response)
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start_response("503 Slow Down", [("Content-Type", "application/xml")])
        return [b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"]

    import logging

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    make_server("127.0.0.1", port, answer, threaded=True).serve_forever()


def serve_scheduler(port: int, counted: Any) -> None:
    """Run a scheduler of Dask that adds the bytes of its connections to `counted`."""
    import asyncio

    from distributed import Scheduler
    from tornado.iostream import IOStream

    def count(name: str) -> None:
        method = getattr(IOStream, name)

        def call(stream: Any, data: Any) -> Any:
            done = method(stream, data)
            counted.value += done or 0
            return done

        setattr(IOStream, name, call)

    async def run() -> None:
        async with Scheduler(host="127.0.0.1", port=port, dashboard_address=":0") as scheduler:
            await scheduler.finished()

    count("write_to_fd")
    count("read_from_fd")
    asyncio.run(run())


def find_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Cluster:
    """A store, a scheduler and workers, each in a process of its own."""

    def __init__(self, scratch: Path, n_workers: int, failing: float = 0.0) -> None:
        self.scratch, self.failing, self.killed_seconds, self.n_killed = scratch, failing, 0.0, 0
        self.store_port, self.port = find_port(), find_port()
        self.workers: list[subprocess.Popen[bytes]] = []
        context = multiprocessing.get_context("spawn")
        self.counted = context.Value("q", 0)
        os.environ.update(ENVIRONMENT, AWS_ENDPOINT_URL=f"http://127.0.0.1:{self.store_port}")
        self.store = context.Process(target=serve_store, args=(self.store_port, failing), daemon=True)
        self.scheduler = context.Process(target=serve_scheduler, args=(self.port, self.counted), daemon=True)
        self.store.start()
        self.scheduler.start()
        for port in (self.store_port, self.port):
            wait_for(port)
        for _ in range(n_workers):
            self.start_worker()
        self.warm_up(n_workers)
        self.mark_idle()

    def mark_idle(self) -> None:
        """Count from now on: packages are imported."""
        self.idle_seconds, self.counted.value = self.read_worker_seconds(), 0
        self.idle_scheduler_seconds = read_seconds(self.scheduler.pid or 0)

    def warm_up(self, n_workers: int) -> None:
        from distributed import Client

        with Client(f"tcp://127.0.0.1:{self.port}", set_as_default=False) as client:
            client.wait_for_workers(n_workers)
            client.run(warm_up)

    def start_worker(self) -> None:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", f"tcp://127.0.0.1:{self.port}"]
        options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory", str(self.scratch / "dask")]
        log = (self.scratch / "workers.log").open("ab")
        self.workers.append(subprocess.Popen([*command, *options], stdout=log, stderr=log, cwd=self.scratch))

    def kill_worker(self) -> None:
        """Kill the oldest worker and start another."""
        worker = self.workers.pop(0)
        self.killed_seconds += read_seconds(worker.pid)
        worker.kill()
        worker.wait()
        self.n_killed += 1
        self.start_worker()

    def read_scheduler_seconds(self) -> float:
        return read_seconds(self.scheduler.pid or 0) - self.idle_scheduler_seconds

    def read_worker_seconds(self) -> float:
        return self.killed_seconds + sum(read_seconds(worker.pid) for worker in self.workers)

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.wait()
        for process in (self.scheduler, self.store):
            process.terminate()
            process.join()


@contextlib.contextmanager
def open_cluster(scratch: Path, n_workers: int, failing: float = 0.0) -> Iterator[Cluster]:
    cluster = Cluster(scratch, n_workers, failing)
    try:
        yield cluster
    finally:
        cluster.close()


def wait_for(port: int) -> None:
    for _ in range(1200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)
    raise RuntimeError(f"no process answers at port {port}")


def warm_up() -> None:
    """Import what tasks need, the package of the store too, whose bucket is not there yet."""
    import segvote.pipeline.stored  # noqa: F401

    with contextlib.suppress(SegvoteError):
        Store("s3://bench").list()


def read_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def read_peak_of(pid: int) -> float:
    """Peak memory of a process in MB (Linux)."""
    return int(re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0]) / 1024


# Runs -----------------------------------------------------------------------------------------------------------------


def make_images(scratch: Path, n_images: int) -> Path:
    folder = scratch / f"images-{n_images}"
    write_scenes(folder, make_scenes(n_images // 2, n_images // 2, size=SIDES, object_area=(0.08, 0.16)))
    return folder


def upload(folder: Path) -> None:
    """Send the images to a new bucket."""
    import fsspec

    fsspec.get_filesystem_class("s3").clear_instance_cache()
    files = fsspec.filesystem("s3")
    for _ in range(20):  # a failing server
        with contextlib.suppress(OSError):
            files.mkdir("bench")
            break
    names = [path.relative_to(folder).as_posix() for name in ("with", "without") for path in (folder / name).iterdir()]
    Store("s3://bench").put(sorted(names), folder)


ANNOTATE = ("annotate", "s3://bench/with", "s3://bench/without", "-o", "s3://bench/out", *OPTIONS)
PREDICT = ("predict", "s3://bench/out", "s3://bench/with", "-o", "s3://bench/found")


def start_client(cluster: Cluster, cache: str, words: Sequence[str] = ANNOTATE) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "segvote", *words, "--scheduler", f"tcp://127.0.0.1:{cluster.port}"]
    environment = {**os.environ, "SEGVOTE_CACHE": str(cluster.scratch / cache)}
    log = (cluster.scratch / "client.log").open("ab")
    return subprocess.Popen(command, stdout=log, stderr=log, env=environment)


def run_client(cluster: Cluster, cache: str, words: Sequence[str] = ANNOTATE) -> tuple[bool, float]:
    """One call of the command: whether it ended well, and its peak memory in MB."""
    client, peak = start_client(cluster, cache, words), 0.0
    while client.poll() is None:
        with contextlib.suppress(OSError, IndexError):  # it has ended
            peak = read_peak_of(client.pid)
        time.sleep(0.2)
    return client.returncode == 0, peak


def annotate_here(folder: Path, out: Path) -> dict[str, bytes]:
    """The bytes of a run on local folders."""
    run_here("annotate", folder / "with", folder / "without", "-o", out, *OPTIONS)
    return read_same(out)


def predict_here(run: Path, folder: Path, out: Path) -> dict[str, bytes]:
    """The bytes of a prediction on local folders."""
    run_here("predict", run, folder, "-o", out)
    return {name: data for name, data in read_same(out).items() if not name.startswith(EXTRACTED)}


def run_here(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "segvote", *map(str, words), "--jobs", "1"], check=True, capture_output=True)


def read_same(out: Path) -> dict[str, bytes]:
    """The files that do not differ between equal runs."""
    found = {path.relative_to(out).as_posix(): path for path in out.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if name.startswith(SAME)}


def list_differences(expected: dict[str, bytes], uri: str = "s3://bench/out") -> list[str]:
    """Files of the run in the store that are missing, too many, or have other bytes."""
    store = Store(uri)
    found = dict(store.read_many([name for name in store.list() if name.startswith(SAME)]))
    return sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))


def read_log(cluster: Cluster) -> str:
    return (cluster.scratch / "client.log").read_text()


def show_log(cluster: Cluster) -> str:
    return read_log(cluster)[-2000:]


# Parts ----------------------------------------------------------------------------------------------------------------


def measure_run(scratch: Path, folder: Path, n_images: int, n_workers: int) -> dict[str, Any]:
    """One run with some workers: CPU seconds, bytes, memory."""
    with open_cluster(scratch, n_workers) as cluster:
        upload(folder)
        began = read_seconds(cluster.store.pid or 0)
        is_done, peak = run_client(cluster, f"cache-{n_images}-{n_workers}")
        if not is_done:
            raise RuntimeError(show_log(cluster))
        figures = read_figures(cluster, n_images, began, peak)
        figures["differences"] = list_differences(annotate_here(folder, scratch / f"here-{n_images}"))
    shutil.rmtree(scratch / f"cache-{n_images}-{n_workers}")
    return figures


def read_figures(cluster: Cluster, n_images: int, began: float, peak: float) -> dict[str, Any]:
    """What was used since the cluster was idle; `began` are the CPU seconds of the store then."""
    seconds = cluster.read_worker_seconds() - cluster.idle_seconds
    return {
        "images_per_worker_second": n_images / seconds,
        "worker_seconds_per_image": seconds / n_images,
        "store_seconds_per_image": (read_seconds(cluster.store.pid or 0) - began) / n_images,
        "scheduler_seconds_per_image": cluster.read_scheduler_seconds() / n_images,
        "scheduler_bytes_per_image": cluster.counted.value / n_images,
        "scheduler_peak_mb": read_peak_of(cluster.scheduler.pid or 0),
        "client_peak_mb": peak,
    }


def measure_predict(given: Given) -> dict[str, Any]:
    """`predict` on the *with* images of a run, from store to store."""
    n_images = QUICK_IMAGES if given.quick else N_IMAGES
    folder = make_images(given.scratch, n_images)
    with open_cluster(given.scratch, 1) as cluster:
        upload(folder)
        if not run_client(cluster, "cache")[0]:
            raise RuntimeError(show_log(cluster))
        cluster.mark_idle()
        began = read_seconds(cluster.store.pid or 0)
        is_done, peak = run_client(cluster, "cache", PREDICT)
        if not is_done:
            raise RuntimeError(show_log(cluster))
        figures = read_figures(cluster, n_images // 2, began, peak)
        run = given.scratch / "here"
        annotate_here(folder, run)
        found = predict_here(run, folder / "with", given.scratch / "found")
        return {**figures, "differences": list_differences(found, "s3://bench/found")}


def do_nothing(item: int) -> int:
    return item


def measure_scheduler(given: Given) -> dict[str, Any]:
    """What a scheduler takes for workers, for tasks, and for items."""
    figures: dict[str, Any] = {}
    for n_workers in (1, 4):
        with open_cluster(given.scratch, n_workers) as cluster:
            time.sleep(IDLE_SECONDS)
            figures[f"idle_{n_workers}_workers_per_second"] = cluster.read_scheduler_seconds() / IDLE_SECONDS
            if n_workers == 1:
                figures.update({f"batches_of_{size}": measure_items(cluster, size) for size in (1, 32, 256)})
    return figures


def measure_items(cluster: Cluster, size: int) -> dict[str, float]:
    """Scheduler time for `N_TASKS` batches of items that do nothing; idle time is not subtracted."""
    items, resources = range(N_TASKS * size), Resources(scheduler=f"tcp://127.0.0.1:{cluster.port}")
    with mock.patch.object(BatchSizes, "choose", return_value=size):
        cluster.mark_idle()
        began = time.monotonic()
        for _ in run_on_all(do_nothing, items, resources):
            pass
        took = cluster.read_scheduler_seconds()
    return {"seconds_per_task": took / N_TASKS, "seconds_per_item": took / len(items), "wall": time.monotonic() - began}


def measure_workers(given: Given) -> dict[str, Any]:
    n_images = QUICK_IMAGES if given.quick else N_IMAGES
    folder = make_images(given.scratch, n_images)
    runs = {f"{n}_workers": measure_run(given.scratch, folder, n_images, n) for n in N_WORKERS}
    return {"n_images": n_images, **runs}


def measure_memory(given: Given) -> dict[str, Any]:
    sizes = QUICK_SIZES if given.quick else SIZES
    return {f"{n}_images": measure_run(given.scratch, make_images(given.scratch, n), n, 1) for n in sizes}


def measure_faults(given: Given) -> dict[str, Any]:
    """Workers and client killed, requests failing; the command is repeated until it ends well."""
    n_images = QUICK_FAULTY if given.quick else N_FAULTY
    folder = make_images(given.scratch, n_images)
    with open_cluster(given.scratch, 2, FAILING) as cluster:
        upload(folder)
        client = start_client(cluster, "first-cache")
        while client.poll() is None and len(Store("s3://bench/out/.done").list()) < n_images // 2:
            time.sleep(0.5)
        n_before = len(Store("s3://bench/out/.done").list())
        client.send_signal(signal.SIGKILL)
        client.wait()
        ended = threading.Event()

        def kill() -> None:
            n_done = len(Store("s3://bench/out/.done").list())
            while not ended.wait(KILL_EVERY):
                now = len(Store("s3://bench/out/.done").list())
                if now >= n_done + KILL_AFTER:
                    cluster.kill_worker()
                    n_done = now

        thread = threading.Thread(target=kill, daemon=True)
        thread.start()
        is_done, n_calls = False, 1
        while not is_done and n_calls < 60:
            is_done, _ = run_client(cluster, "second-cache")
            n_calls += 1
            time.sleep(0 if is_done else 5)
        ended.set()
        thread.join()
        return {
            "n_images": n_images,
            "done_when_the_client_was_killed": n_before,
            "calls": n_calls,
            "refused_by_lease": read_log(cluster).count("another machine is writing"),
            "workers_killed": cluster.n_killed,
            "finished": is_done,
            "differences": list_differences(annotate_here(folder, given.scratch / "here")),
        }


if __name__ == "__main__":
    parts = {
        "scheduler": measure_scheduler,
        "workers": measure_workers,
        "memory": measure_memory,
        "predict": measure_predict,
        "faults": measure_faults,
    }
    run_parts(__doc__, parts)
