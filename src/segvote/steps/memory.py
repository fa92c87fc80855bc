"""How much memory a vote may take: the bound, what a vote is estimated to take, and where its arrays lie therefore.

The bound decides where numbers lie, never what they are: it is no part of a run's settings. It counts what the process
holds; pages of mapped files are the system's, which takes them back when somebody else needs memory.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from segvote.errors import BadInputError, TooLargeError
from segvote.kernels import Workspace
from segvote.method import SegmentAnnotator
from segvote.run.settings import METHOD, Settings
from segvote.steps.workers import get_others

__all__ = ["Need", "choose_workspace", "estimate_need", "format_size", "limit_memory", "parse_size"]

UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([KMGT]?B?)\s*", re.IGNORECASE)
# Python and all packages, and the blocks in which features are centred and weighed.
BASE = 250 * 10**6
# Of one thread's block of queries: candidates, their bags, those measured.
PER_THREAD = 150 * 10**6
# Bytes of a segment for its bag, bag label, prior, weights, scores, and the columns of the vote that leaves bags out.
PER_SEGMENT = 1000
# The features with what a voter of another kind makes of them.
COPIES = 4

_bound: ContextVar[int | None] = ContextVar("bound", default=None)


@dataclass(frozen=True)
class Need:
    """Bytes that a vote takes.

    Attributes
    ----------
    in_memory
        With everything in memory.
    on_disk
        Of memory, when all that is large lies in files and one thread searches.
    files
        These files.
    """

    in_memory: int
    on_disk: int
    files: int


def parse_size(text: str | int) -> int:
    """Bytes of a size as people write it: ``4GB``, ``500 MB``, ``1.5g``, or a plain number of bytes."""
    match = SIZE.fullmatch(str(text))
    if match is None or float(match[1]) == 0:
        raise BadInputError(f"expected a size like 4GB, 500MB or a number of bytes, got {str(text)!r:.40}")
    unit = match[2].upper().removesuffix("B")
    return int(float(match[1]) * UNITS[f"{unit}B" if unit else ""])


def format_size(n_bytes: int) -> str:
    """A size as `parse_size` reads it, rounded up: 512MB, 4.1GB."""
    unit = "GB" if n_bytes >= 10**9 else "MB"
    tenths = -(-n_bytes * 10 // UNITS[unit])
    return f"{tenths / 10:g}{unit}" if unit == "GB" else f"{-(-tenths // 10)}{unit}"


@contextlib.contextmanager
def limit_memory(memory: str | int | None) -> Iterator[None]:
    """Let votes inside the ``with`` take no more than this; None: what they like.

    Parameters
    ----------
    memory
        As `parse_size` reads it.
    """
    token = _bound.set(None if memory is None else parse_size(memory))
    try:
        yield
    finally:
        _bound.reset(token)


def choose_workspace(folder: Path, settings: Settings, n_segments: int, n_dims: int) -> Workspace:
    """Where a vote's arrays lie: in memory if they fit and nobody else is to see them, else in files in `folder`.

    Parameters
    ----------
    folder
        The run folder.
    settings
        Whose voter is going to vote.
    n_segments, n_dims
        Of the features.
    """
    bound, others = _bound.get(), get_others()
    need = estimate_need(settings, n_segments, n_dims)
    if others is None and (bound is None or need.in_memory <= bound):
        return Workspace()
    if bound is not None:
        _check_bound(bound, need, n_segments)
    free = shutil.disk_usage(folder).free
    if free < need.files:
        raise TooLargeError(
            f"the vote of {n_segments} segments needs {format_size(need.files)} of disk for its files; {folder} has "
            f"{format_size(free)} left. Make room there, or give more --memory"
        )
    spare = 0 if bound is None else (bound - need.on_disk) // PER_THREAD
    return Workspace(folder, others, None if bound is None else min(1 + spare, _count_cores()))


def _check_bound(bound: int, need: Need, n_segments: int) -> None:
    if bound < need.on_disk:
        other = "" if need.on_disk < need.in_memory else " use voter ekde, which keeps its arrays on disk,"
        raise TooLargeError(
            f"the vote of {n_segments} segments needs {format_size(need.on_disk)} of memory, --memory allows "
            f"{format_size(bound)}. Give more,{other} or fewer segments"
        )


def estimate_need(settings: Settings, n_segments: int, n_dims: int) -> Need:
    """What a vote takes; estimated with something to spare, and never less than what was measured.

    Parameters
    ----------
    settings
        Whose voter is going to vote; one other than the method is taken to copy the features.
    n_segments, n_dims
        Of the features.
    """
    features, rest = 4 * n_segments * n_dims, BASE + PER_SEGMENT * n_segments
    # After the vote its model is written: a byte of each number, three times for a moment.
    model = 3 * n_segments * n_dims
    if settings.voter != METHOD:
        whole = rest + model + COPIES * features
        return Need(whole, whole, features)
    large, learning = SegmentAnnotator(**settings.voter_options).estimate_arrays(n_segments, n_dims)
    one, all_ = (max(model, learning + PER_THREAD * n_threads) for n_threads in (1, _count_cores()))
    return Need(rest + all_ + features + large, rest + one, features + large)


def _count_cores() -> int:
    return os.cpu_count() or 1
