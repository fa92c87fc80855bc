"""One vote of a comparison: timed, its warnings kept, and on wish in a process of its own that may be ended.

A voter that needs a day, or all memory, must not cost the others their turn. The child reads the segments from a file
and writes the votes to another; it is started as a module, so that scripts need no guard.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from segvote.errors import DamagedFileError, SegvoteError, TooLargeError
from segvote.io.arrays import read_arrays, write_arrays
from segvote.method.table import SegmentTable
from segvote.run.settings import Settings
from segvote.steps.vote import hold_vote

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

ERROR_PREFIX = "segvote-error:"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# The clock ends a process only when it shows this many times the limit: it may be waiting for its turn.
PATIENCE = 20


@dataclass(frozen=True)
class Count:
    """What came out of one vote."""

    votes: np.ndarray  # (n_segments,) the voter's own scores
    seconds: float  # processor time it took
    notes: tuple[str, ...] = ()  # what the voter warned of


def count_votes(table: SegmentTable, settings: Settings) -> Count:
    """Let the segments vote, here and now."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        started = time.process_time()
        held = hold_vote(table, settings)
        seconds = time.process_time() - started
    notes = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    return Count(np.asarray(held.vote.votes, dtype=np.float64), seconds, tuple(dict.fromkeys(notes)))


def write_count(path: Path, count: Count) -> None:
    """Keep a count; see `read_count`."""
    write_arrays(path, votes=count.votes, seconds=np.array(count.seconds), notes=np.array(count.notes, dtype=np.str_))


def read_count(path: Path) -> Count | None:
    """The count in a file, or None where there is no whole one."""
    try:
        arrays = read_arrays(path)
        return Count(arrays["votes"], float(arrays["seconds"]), tuple(map(str, arrays["notes"])))
    except (DamagedFileError, KeyError):
        return None


def write_ballot(path: Path, table: SegmentTable) -> None:
    """Write what a voter needs to know of the segments."""
    write_arrays(path, False, **{field.name: getattr(table, field.name) for field in fields(table)})


def count_threads(n_jobs: int) -> int:
    """Threads for each of `n_jobs` processes, so that together they fill the machine and no more."""
    return max(1, (os.cpu_count() or 1) // n_jobs)


def count_votes_within(ballot: Path, settings: Settings, time_limit: float, n_threads: int = 1) -> Count:
    """The same in a process of its own, on a file of `write_ballot`; `TooLargeError` when it takes longer.

    The limit is in seconds of processor time, so that a busy machine does not decide who has a result; of the clock
    where the system cannot count processor time.
    """
    out = ballot.with_name(f"votes-{settings.voter}{'-finished' if settings.finish else ''}.npz")
    request = json.dumps({"settings": settings.to_dict(), "time_limit": time_limit})
    command = [sys.executable, "-m", "segvote.evaluation.compare_voting", str(ballot), request, str(out)]
    too_slow = TooLargeError(
        f"{settings.voter} took longer than {time_limit:g} s; raise --time-limit or use fewer segments"
    )
    try:
        timeout = time_limit * (PATIENCE if resource else 1)
        environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(n_threads))}
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, env=environment)
    except subprocess.TimeoutExpired as error:
        raise too_slow from error
    if resource and -done.returncode == signal.SIGXCPU:
        raise too_slow
    if done.returncode != 0:
        raise _read_failure(done)
    count = read_count(out)
    out.unlink(missing_ok=True)
    if count is None:
        raise RuntimeError("the process ended without votes")
    return count


def _read_failure(done: subprocess.CompletedProcess[str]) -> Exception:
    """The child's error, as its last line tells it."""
    last = (done.stderr.strip().splitlines() or [""])[-1]
    if last.startswith(ERROR_PREFIX):
        kind, _, message = last.removeprefix(ERROR_PREFIX).partition(":")
        return TooLargeError(message) if kind == "TooLargeError" else SegvoteError(message)
    if -done.returncode == getattr(signal, "SIGKILL", 0):
        return TooLargeError("the system ended the process, for lack of memory it seems; use fewer segments")
    return RuntimeError(last or f"the process was ended by signal {-done.returncode}")


def main(arguments: Sequence[str]) -> int:
    """Entry of the child: ballot, settings as JSON, file for the votes."""
    ballot, request, out = Path(arguments[0]), json.loads(arguments[1]), arguments[2]
    limit_time(request["time_limit"])
    try:
        count = count_votes(SegmentTable(**read_arrays(ballot)), Settings(**request["settings"]))
    except SegvoteError as error:
        print(f"{ERROR_PREFIX}{type(error).__name__}:{str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    write_count(Path(out), count)
    return 0


def limit_time(seconds: float) -> None:
    """Have the system end this process after so many seconds of processor time."""
    if resource:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
