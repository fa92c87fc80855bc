"""Workers of Dask in the place of local processes: images are read, segmented and drawn there, the vote is here.

A `Cluster` is handed to the steps, which send it all that works on one bag at a time. The workers see the run folder
and the folders of images under the same paths as this process, and have the same versions of everything that may
change a mask: the files they write are the bytes that one machine would write.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from segvote import __version__
from segvote.errors import BadInputError, MissingPartError, SegvoteError
from segvote.io.atomic import explain_failure
from segvote.run.record import list_versions

# Bags under way for each worker: enough to keep it busy, few enough for a scheduler with millions to go.
UNDER_WAY = 16
# Seconds until a scheduler, or its first worker, has to answer; and one that replaces the last worker.
PATIENCE = 30
# Seconds until a worker of one's own has started, on a machine that has other work.
START_SECONDS = 120
# Seconds between two looks at whether anybody works.
LOOK_EVERY = 5


class Cluster:
    """Workers that take the place of local processes.

    Parameters
    ----------
    client
        A connected ``distributed.Client``.
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    @property
    def dashboard(self) -> str:
        """Address of the page on which Dask shows what its workers do (it needs the package bokeh)."""
        return str(self.client.dashboard_link)

    def check_versions(self) -> None:
        """Refuse workers whose packages are not those of this process: their masks could be others."""
        own = _list_versions()
        for worker, found in self._ask(_list_versions).items():
            differing = [f"{name} {found.get(name)} (here {own[name]})" for name in own if found.get(name) != own[name]]
            if differing:
                raise BadInputError(
                    f"expected workers with the versions of this machine; {worker} has {', '.join(differing)}. "
                    "Install the same ones"
                )

    def check_folders(self, folders: Iterable[Path | str]) -> None:
        """Refuse workers that do not see a folder, or the nearest one above that is there, as it is here."""
        for folder in map(Path, folders):
            with _open_probe(folder) as probe:
                blind = [worker for worker, sees in self._ask(_exists, str(probe)).items() if not sees]
            if blind:
                raise BadInputError(
                    f"expected workers that see {folder}; {blind[0]} does not. Mount it there under the same path, "
                    "or use --jobs"
                )

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """What every worker answers, by its address."""
        try:
            return dict(self.client.run(function, *arguments))
        except ModuleNotFoundError as error:
            raise BadInputError(
                f"expected segvote {__version__} on every worker; one has no module {error.name}. Install it there"
            ) from error

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield ``function(item)`` for every item, in order.

        A worker that dies is replaced, or done without: what it had under way is done again by another.
        """
        # The function is itself the result of a task: sent to each worker once, and made again if they die with it.
        shared = self.client.submit(_keep, function, pure=False)
        waiting: deque[Any] = deque()
        for item in items:
            waiting.append(self.client.submit(_call, shared, item, pure=False))
            if len(waiting) >= UNDER_WAY * max(1, self._count_threads()):
                yield self._wait(waiting.popleft())
        while waiting:
            yield self._wait(waiting.popleft())

    def _count_threads(self) -> int:
        return sum(self.client.nthreads().values())

    def _wait(self, future: Any) -> Any:
        from distributed import KilledWorker
        from distributed import TimeoutError as NotYetError

        patience = _Patience()
        while True:
            limit = None if future.status == "error" else LOOK_EVERY
            with _explain_loss():
                try:
                    return future.result(timeout=limit)
                except KilledWorker as error:
                    raise SegvoteError(
                        "several workers died at the same bag; they may lack memory: give them more, "
                        "or start fewer per machine"
                    ) from error
                except NotYetError:
                    if limit is None:  # the bag's own error, nobody waited
                        raise
                patience.check(self._count_threads())


class _Patience:
    """Waits for workers that died to be replaced, but not for ever."""

    def __init__(self) -> None:
        self._alone_since: float | None = None

    def check(self, n_threads: int) -> None:
        now = time.monotonic()
        self._alone_since = None if n_threads else self._alone_since or now
        if self._alone_since is not None and now - self._alone_since > PATIENCE:
            raise SegvoteError(
                f"no worker of Dask is left for {PATIENCE} s; start some and repeat the command: what is done is kept"
            )


@contextlib.contextmanager
def _explain_loss() -> Iterator[None]:
    """Turn what Dask says of a scheduler that is gone into one line."""
    from distributed import CancelledError
    from distributed.comm import CommClosedError

    try:
        yield
    except (CancelledError, CommClosedError, ConnectionError) as error:
        raise SegvoteError(
            f"Dask's scheduler is gone ({type(error).__name__}); start it and repeat the command: what is done is kept"
        ) from error


@contextlib.contextmanager
def open_cluster(
    n_workers: int | None = None, scheduler: str | None = None, folders: Iterable[Path | str] = ()
) -> Iterator[Cluster]:
    """Workers of Dask for the time of a ``with``.

    Parameters
    ----------
    n_workers
        Start as many processes on this machine. They speak TLS with keys made for the occasion: nobody else on the
        machine can give them work. Or
    scheduler
        address (``tcp://host:8786``) of what ``dask scheduler`` started, with workers of ``dask worker``. Whoever can
        reach that address can run programs on all of its machines, and they on this one: see ``docs/scaling.md``.
    folders
        Of images and of runs: a worker that does not see one of them is refused. Without any, it is taken for granted
        that they see all.

    Yields
    ------
    Cluster
    """
    if (n_workers is None) == (scheduler is None):
        raise BadInputError(
            f"expected a number of workers or the address of a scheduler, got {n_workers} and {scheduler}; give one"
        )
    _check_installed()
    with contextlib.ExitStack() as stack:
        stack.enter_context(_quieted())
        address: Any = scheduler if n_workers is None else stack.enter_context(_start_local(n_workers))
        cluster = Cluster(stack.enter_context(_connect(address)))
        _await_worker(cluster.client)
        if n_workers is not None:
            cluster.client.register_plugin(_make_deaf())
        cluster.check_versions()
        if scheduler is not None:
            cluster.check_folders(folders)
        yield cluster


@contextlib.contextmanager
def _quieted() -> Iterator[None]:
    """Keep Dask's remarks on what dies from the terminal: an error of ours says what happened and what to do."""
    # Dask's own loggers have levels of their own, but one handler.
    quiet: list[Any] = [*logging.getLogger("distributed").handlers, logging.getLogger("asyncio")]
    levels = [one.level for one in quiet]
    for one in quiet:
        one.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for one, level in zip(quiet, levels, strict=True):
            one.setLevel(level)


def _check_installed() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise MissingPartError("workers and schedulers are Dask's; install it: pip install 'segvote[dask]'") from error


def _start_local(n_workers: int) -> Any:
    import dask
    from distributed import LocalCluster

    # A free port for the dashboard: two runs on one machine do not meet. Memory is the user's to watch: Dask's limit
    # counts pages that were given back, and would kill workers that are well. With keys: who may give work to a worker
    # may do whatever its owner may.
    with dask.config.set({"distributed.comm.timeouts.connect": START_SECONDS}), _explain_start():
        return LocalCluster(
            security=_make_keys(),
            protocol="tls",
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
            silence_logs=logging.ERROR,
        )


@contextlib.contextmanager
def _explain_start() -> Iterator[None]:
    try:
        yield
    except (RuntimeError, OSError, TimeoutError) as error:
        raise SegvoteError(
            f"the workers could not be started ({error}); look for what ends processes here, then repeat the command"
        ) from error


def _make_keys() -> Any:
    from distributed import Security

    try:
        return Security.temporary()
    except ImportError as error:
        raise MissingPartError(
            f"workers of one's own need keys, for which a package is missing ({error}); pip install 'segvote[dask]'"
        ) from error


def _make_deaf() -> Any:
    """What keeps workers on this terminal, also those that replace dead ones, from dying noisily of Ctrl-C."""
    from distributed import WorkerPlugin

    class Deaf(WorkerPlugin):
        name = "segvote-deaf"

        def setup(self, worker: Any) -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    return Deaf()


def _connect(address: Any) -> Any:
    from distributed import Client

    try:
        return Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise BadInputError(
            f"expected a Dask scheduler at {address}, got no answer ({type(error).__name__}); start one: dask scheduler"
        ) from error


def _await_worker(client: Any) -> None:
    from distributed import TimeoutError as NoWorkerError

    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except NoWorkerError as error:
        address = client.scheduler.address
        raise BadInputError(
            f"expected workers at {address}, found none in {PATIENCE} s; start some: dask worker {address}"
        ) from error


def _keep(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return function


def _call(function: Callable[[Any], Any], item: Any) -> Any:
    # With one thread, as in local processes: their number may decide how sums are rounded.
    with threadpool_limits(1):
        return function(item)


def _list_versions() -> dict[str, str]:
    return {"segvote": __version__, **list_versions()}


@contextlib.contextmanager
def _open_probe(folder: Path) -> Iterator[Path]:
    """A file by which a folder is known: one that is in it; where there is none, a new one for a moment."""
    if (found := next((path for path in folder.rglob("*") if path.is_file()), None)) is not None:
        yield found
        return
    nearest = next(part for part in (folder, *folder.parents) if part.is_dir())
    probe = nearest / f".tmp-{secrets.token_hex(8)}"
    with explain_failure(probe):
        probe.touch()
    try:
        yield probe
    finally:
        probe.unlink(missing_ok=True)


def _exists(path: str) -> bool:
    return Path(path).exists()
