"""A parallel map by joblib: the same function on many items, in processes, in threads, or by workers of Dask.

Results come in the order of the items; the work of a killed worker is done again. `Resources` holds what a call may
use for it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from segvote.errors import BadInputError, MissingPartError, SegvoteError
from segvote.io.stores import is_uri
from segvote.progress import Progress, ignore_progress
from segvote.run.record import list_versions

Item = TypeVar("Item")
Result = TypeVar("Result")
# Default number of processes.
N_JOBS = 2
# How often a broken pool is set up again before giving up.
MAX_RESTARTS = 3
# Seconds until a scheduler, or its first worker, has to answer.
PATIENCE = 30
# Below this many items, starting processes costs more than it saves.
MIN_PARALLEL = 4

# Of joblib, when an idle worker ended just as there was work again; another takes its place. Where warnings are errors,
# it would end the thread that hands out the work, and the pool would never end.
warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)


@dataclass(frozen=True)
class Resources:
    """What one call may use; none of it changes a result.

    Attributes
    ----------
    n_jobs : int
        Number of processes, or of threads.
    scheduler : str or None
        Address of a Dask scheduler whose workers are used instead of processes; they see the folders of this machine
        under the same paths.
    progress : callable
        Called with step, done, total.
    """

    n_jobs: int = N_JOBS
    scheduler: str | None = None
    progress: Progress = ignore_progress


def name_in_full(scheduler: str | None, *folders: Any) -> list[Any]:
    """Absolute paths where workers of a scheduler read them, as these may have been started in any folder."""
    if scheduler is None:
        return list(folders)
    return [Path(one).resolve() if isinstance(one, str | Path) and not is_uri(one) else one for one in folders]


def run_on_all(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    resources: Resources,
    step: str = "",
    in_threads: bool = False,
) -> Iterator[Result]:
    """Yield ``function(item)`` for every item, in order, and report progress where the step has a name.

    Each process computes with one thread, so that the number of processes cannot change a result. Threads are for
    functions that let go of the interpreter most of the time: no process has to start.
    """
    report = resources.progress if step else ignore_progress
    report(step, 0, len(items))
    for done, result in enumerate(_start(function, items, resources, in_threads), start=1):
        yield result
        report(step, done, len(items))


def _start(
    function: Callable[[Item], Result], items: Sequence[Item], resources: Resources, in_threads: bool
) -> Iterator[Result]:
    if resources.scheduler is not None:
        return _run_dask(function, items, resources.scheduler)
    if in_threads:
        return _run_threads(function, items, resources.n_jobs)
    if resources.n_jobs == 1 or len(items) < MIN_PARALLEL:
        return map(function, items)
    return _run_processes(function, items, resources.n_jobs)


def _run_processes(function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int) -> Iterator[Result]:
    """In a pool that is set up again where one of its processes died."""
    done, restarts = 0, 0
    while done < len(items):
        try:
            for result in _run_pool(function, items[done:], n_jobs):
                yield result
                done += 1
        except _find_broken_pool_error() as error:
            restarts += 1
            if restarts > MAX_RESTARTS:
                raise SegvoteError(
                    f"a worker process died {restarts} times, last at item {done + 1} of {len(items)}; "
                    "it may lack memory: try --jobs 1"
                ) from error


def _run_threads(function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int) -> Iterator[Result]:
    waiting: deque[Future[Result]] = deque()
    with threadpool_limits(1), ThreadPoolExecutor(n_jobs) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            # A few at a time: an interrupt waits for those that were begun, not for all.
            if len(waiting) > 2 * n_jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _run_pool(function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int) -> Iterator[Result]:
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend="loky", inner_max_num_threads=1):
        pool: Any = Parallel(n_jobs=min(n_jobs, len(items), 4 * (os.cpu_count() or 1)), return_as="generator")
    there = _InFolder(function, os.getcwd())
    yield from pool(delayed(there)(item) for item in items)


def _run_dask(function: Callable[[Item], Result], items: Sequence[Item], scheduler: str) -> Iterator[Result]:
    """By joblib's Dask backend; workers whose packages are not those of this process are refused."""
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingPartError("--scheduler needs Dask; install it: pip install 'segvote[dask]'") from error
    from joblib import Parallel, delayed, parallel_config

    if not items:
        return
    try:
        client = Client(scheduler, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise BadInputError(
            f"expected a Dask scheduler at {scheduler}, got none ({type(error).__name__}); start one: dask scheduler"
        ) from error
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # logs a traceback where the scheduler is gone
    with client, _named_loss(client, scheduler):
        _check_workers(client, scheduler)
        # The function may hold a network: it is sent to each worker once.
        with parallel_config(backend="dask", client=client, scatter=[function]):
            pool: Any = Parallel(return_as="generator")
        yield from pool(delayed(_call_alone)(function, item) for item in items)


@contextlib.contextmanager
def _named_loss(client: Any, scheduler: str) -> Iterator[None]:
    """Raise one error for whatever fails because the scheduler is gone."""
    try:
        yield
    except Exception as error:
        if client.status == "running":
            raise
        raise SegvoteError(
            f"the Dask scheduler at {scheduler} does not answer any more; start it again and repeat the command, "
            "which continues where it was"
        ) from error


def _check_workers(client: Any, scheduler: str) -> None:
    """Dask's own checks: that there are workers, and that they have the versions of this process."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
        client.get_versions(check=True, packages=["segvote", *(name for name in list_versions() if name != "python")])
    except TimeoutError as error:
        raise BadInputError(
            f"expected workers at {scheduler}, found none in {PATIENCE} s; start some: dask worker {scheduler}"
        ) from error
    except ValueError as error:
        raise BadInputError(
            f"expected workers with the versions of this machine, got {' '.join(str(error).split())}; install the same"
        ) from error


def _call_alone(function: Callable[[Any], Any], item: Any) -> Any:
    """With one thread, as in local processes: their number may change how sums are rounded."""
    with threadpool_limits(1):
        return function(item)


class _InFolder:
    """A function for worker processes, which are kept: the program may have changed its folder since they started."""

    def __init__(self, function: Callable[[Any], Any], folder: str) -> None:
        self.function, self.folder = function, folder

    def __call__(self, item: Any) -> Any:
        os.chdir(self.folder)
        return self.function(item)


def _find_broken_pool_error() -> type[Exception]:
    from joblib.externals.loky.process_executor import BrokenProcessPool

    return BrokenProcessPool
