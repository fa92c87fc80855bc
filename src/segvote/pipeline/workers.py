"""A parallel map: the same function on many items, in processes (joblib), in threads, or by workers of Dask.

Results come in the order of the items; the work of a killed worker is done again.
"""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from segvote.errors import SegvoteError
from segvote.numerics.threads import use_one_thread
from segvote.pipeline.cluster import run_dask
from segvote.progress import Progress, ignore_progress

Item = TypeVar("Item")
Result = TypeVar("Result")
# Default number of processes.
N_JOBS = 2
# How often a broken pool is set up again before giving up.
MAX_RESTARTS = 3
# Below this many items, starting processes costs more than it saves.
MIN_PARALLEL = 4


Start = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]


class Tasks(Protocol):
    """The tasks of a run whose folders lie in a store; see `segvote.pipeline.stored`."""

    is_shared: bool  # whether other processes can read the store

    def run_all(self, function: Callable[[Any], Any], items: Sequence[Any], start: Start) -> Iterator[Any]: ...

    def save(self) -> None: ...

    def fetch(self, paths: Sequence[Path]) -> None: ...

    def send(self, paths: Sequence[Path]) -> None: ...

    def describe(self, path: Path) -> Any: ...

    def lend(self, folder: Path) -> str: ...


@dataclass(frozen=True)
class Resources:
    """Processes and progress of one call; they do not change results."""

    n_jobs: int = N_JOBS  # processes, or threads
    # Address of a Dask scheduler whose workers are used instead; they see the folders under the same paths.
    scheduler: str | None = None
    progress: Progress = ignore_progress
    tasks: Tasks | None = None  # where all folders lie in stores

    def save(self) -> None:
        """Send what was written so far to the store, if the run lies in one."""
        if self.tasks is not None:
            self.tasks.save()

    def fetch(self, paths: Sequence[Path]) -> None:
        """Fetch files that are read next, many at a time, if the run lies in a store."""
        if self.tasks is not None:
            self.tasks.fetch(paths)

    def send(self, paths: Sequence[Path]) -> None:
        """Send some files of the run now, if it lies in a store."""
        if self.tasks is not None:
            self.tasks.send(paths)


def run_on_all(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    resources: Resources,
    step: str = "",
    in_threads: bool = False,
) -> Iterator[Result]:
    """Yield ``function(item)`` for every item, in order, and report progress where the step has a name.

    Each worker computes with one thread, so that the number of workers cannot change a result. Threads are for
    functions that release the interpreter most of the time: no process has to start.
    """
    report = resources.progress if step else ignore_progress
    report(step, 0, len(items))

    def start(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        return _start(function, items, resources, in_threads)

    tasks = resources.tasks
    results = start(function, items) if tasks is None else tasks.run_all(function, items, start)
    for done, result in enumerate(results, start=1):
        yield result
        report(step, done, len(items))


def _start(
    function: Callable[[Item], Result], items: Sequence[Item], resources: Resources, in_threads: bool
) -> Iterator[Result]:
    if resources.tasks is not None and not resources.tasks.is_shared:
        return map(function, items)
    if resources.scheduler is not None and items:
        return run_dask(function, items, resources.scheduler)
    if in_threads:
        return _run_threads(function, items, resources.n_jobs)
    if resources.n_jobs == 1 or len(items) < MIN_PARALLEL:
        return map(function, items)
    return _run_processes(function, items, min(resources.n_jobs, len(items), 4 * (os.cpu_count() or 1)))


def _run_threads(function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int) -> Iterator[Result]:
    """Map without joblib, which submits all items at once: an interrupt waits for the few that were submitted."""
    waiting: deque[Future[Result]] = deque()
    with use_one_thread(), ThreadPoolExecutor(n_jobs) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * n_jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _run_processes(function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int) -> Iterator[Result]:
    """Map in a pool that is set up again if one of its processes died."""
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import BrokenProcessPool

    # An idle worker ended as new work came; another takes its place. As an error, the warning would stop the thread
    # that hands out the work, and the pool, which outlives this call, would wait forever.
    warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
    done, restarts = 0, 0
    while done < len(items):
        with parallel_config(backend="loky", inner_max_num_threads=1):
            pool: Any = Parallel(n_jobs, return_as="generator")
        try:
            for result in pool(delayed(_call_in)(os.getcwd(), function, item) for item in items[done:]):
                yield result
                done += 1
        except BrokenProcessPool as error:
            restarts += 1
            if restarts > MAX_RESTARTS:
                raise SegvoteError(
                    f"a worker process died {restarts} times, last at item {done + 1} of {len(items)}; "
                    "it may lack memory: try --jobs 1"
                ) from error


def _call_in(folder: str, function: Callable[[Item], Result], item: Item) -> Result:
    """Call in the current folder of the program, which may have changed since the worker process started."""
    os.chdir(folder)
    return function(item)
