"""The parallel map on the workers of a Dask scheduler: a task is a batch of items that takes some seconds.

Each task costs the scheduler some milliseconds, whatever it holds. How many items go into a batch follows from the time
of those before; near the end batches are small, so that the workers finish together. Results do not depend on it.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable
from uuid import uuid4

from segvote.errors import BadInputError, MissingPartError, SegvoteError
from segvote.numerics.threads import use_one_thread
from segvote.run.record import list_versions

Item = TypeVar("Item")
Result = TypeVar("Result")
# Seconds until a scheduler, or its first worker, has to answer.
PATIENCE = 30
# Batches that are submitted for each thread of the workers.
AHEAD = 4
# Seconds from one count of these threads to the next: workers come and go.
COUNT_EVERY = 5.0
# Seconds that a task should take: at least `TASK_SECONDS`, and so many for each thread that the scheduler keeps up.
TASK_SECONDS, SECONDS_PER_THREAD = 2.0, 0.006
# A batch holds at most its share of the items that are left, of so many shares for each thread...
SHARES = 2
# ...unless it takes less than so many seconds; and at most so many items.
LEAST_SECONDS, MOST_ITEMS = 0.2, 256


@runtime_checkable
class Resumable(Protocol):
    """A function that knows which items of a batch were done by a worker that died."""

    def find_finished(self, items: Sequence[Any]) -> list[Any]:
        """The results of the first items, as far as they are done."""


@dataclass(frozen=True)
class Batch(Generic[Item]):
    """Consecutive items; to Dask a thing without parts, which it does not search for tasks."""

    items: Sequence[Item]


@dataclass(frozen=True)
class Done:
    """Results of the first items of a batch: all, or those before an item that raised an error."""

    results: list[Any]
    seconds: float  # per item


class BatchSizes:
    """How many items the next batch holds, from the seconds per item of earlier ones; it at most doubles."""

    def __init__(self) -> None:
        self._seconds, self._size = 0.0, 1

    def note(self, seconds: float) -> None:
        self._seconds = (self._seconds + seconds) / 2 if self._seconds else seconds

    def choose(self, n_left: int, n_threads: int) -> int:
        """The size for `n_left` items; 1 until a time is known."""
        if self._seconds:
            wanted = max(TASK_SECONDS, SECONDS_PER_THREAD * n_threads) / self._seconds
            fair = max(n_left / (SHARES * n_threads), LEAST_SECONDS / self._seconds)
            self._size = max(1, int(min(wanted, fair, 2 * self._size, MOST_ITEMS)))
        return self._size


def run_dask(function: Callable[[Item], Result], items: Sequence[Item], scheduler: str) -> Iterator[Result]:
    """Results in the order of the items."""
    with _connect(scheduler) as client:
        from distributed import KilledWorker

        try:
            yield from _Submission(client, function, items, KilledWorker).run()
        except KilledWorker as error:
            raise SegvoteError(
                f"several workers of {scheduler} died at the same item; they may lack memory: start them with more, "
                "and repeat the command, which continues where it was"
            ) from error
        except Exception as error:
            if client.status == "running":
                raise
            raise SegvoteError(
                f"the Dask scheduler at {scheduler} does not answer any more; start it again and repeat the command, "
                "which continues where it was"
            ) from error


class _Submission(Generic[Item, Result]):
    """The items of one call; a few batches for each thread wait at a time, so that the graph of tasks stays small."""

    def __init__(
        self, client: Any, function: Callable[[Item], Result], items: Sequence[Item], killed: type[Exception]
    ) -> None:
        self._client, self._items, self._killed = client, items, killed
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            # The function may hold a network: as a task it is sent to each worker once, and again if the worker dies.
            self._function = client.submit(_return, function, pure=False)
        self._name, self._n_tasks = f"segvote-{uuid4().hex}", 0
        self._waiting: deque[tuple[Sequence[Item], Any]] = deque()
        self._n_submitted, self._sizes = 0, BatchSizes()
        self._n_threads, self._counted = 1, -COUNT_EVERY

    def run(self) -> Iterator[Result]:
        while self._n_submitted < len(self._items) or self._waiting:
            self._refill()
            batch, future = self._waiting.popleft()
            try:
                done: Done = future.result()
            except self._killed:
                if len(batch) == 1:
                    raise
                self._put_back([[item] for item in batch])  # one of them kills workers
                continue
            if done.seconds:
                self._sizes.note(done.seconds)
            if len(done.results) < len(batch):  # the next item raises its error as the first of a batch
                self._put_back([batch[len(done.results) :]])
            yield from done.results

    def _refill(self) -> None:
        if time.monotonic() - self._counted > COUNT_EVERY:
            self._n_threads = max(1, sum(self._client.nthreads().values()))
            self._counted = time.monotonic()
        while len(self._waiting) < AHEAD * self._n_threads and self._n_submitted < len(self._items):
            size = self._sizes.choose(len(self._items) - self._n_submitted, self._n_threads)
            batch = self._items[self._n_submitted : self._n_submitted + size]
            self._waiting.append((batch, self._submit(batch)))
            self._n_submitted += len(batch)

    def _put_back(self, batches: Sequence[Sequence[Item]]) -> None:
        self._waiting.extendleft(reversed([(batch, self._submit(batch)) for batch in batches]))

    def _submit(self, batch: Sequence[Item]) -> Any:
        self._n_tasks += 1
        return self._client.submit(_call_batch, self._function, Batch(batch), key=(self._name, self._n_tasks))


def _return(function: Callable[[Item], Result]) -> Callable[[Item], Result]:
    return function


def _call_batch(function: Callable[[Any], Any], batch: Batch[Any]) -> Done:
    """Call with one thread, as local processes do: the number of threads may change how sums are rounded."""
    with use_one_thread():
        # A worker that died may have done some of them.
        results: list[Any] = function.find_finished(batch.items) if isinstance(function, Resumable) else []
        n_found, began = len(results), time.monotonic()
        for item in batch.items[n_found:]:
            try:
                results.append(function(item))
            except Exception:
                if not results:
                    raise
                break
    return Done(results, (time.monotonic() - began) / max(1, len(results) - n_found))


def _connect(scheduler: str) -> Any:
    """A client of a scheduler that has workers, with the packages of this process: others may change a result."""
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingPartError("--scheduler needs Dask; install it: pip install 'segvote[dask]'") from error
    packages = ["segvote", *(name for name in list_versions() if name != "python")]
    try:
        client = Client(scheduler, timeout=PATIENCE, set_as_default=False)
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
            client.get_versions(check=True, packages=packages)
        except BaseException:
            client.close()
            raise
    except (OSError, TimeoutError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise BadInputError(
            f"expected a Dask scheduler at {scheduler} with workers of the same versions as here, got: {reason}; "
            f"start them: dask scheduler; dask worker {scheduler}"
        ) from error
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # logs a traceback where the scheduler is gone
    return client
