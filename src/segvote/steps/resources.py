"""What the steps of one call may use: processes of this machine or workers of Dask, and the memory that is free."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segvote.errors import TooLargeError
from segvote.io.stores import is_uri

# Processes, where a call does not say how many.
N_JOBS = 2
# Bytes of Python and all packages; of a segment for its bag, prior, weights, scores and the index of the search; of one
# number of its features, for these and for the model made of them; of one neighbour, for its distance and its vote.
BASE, PER_SEGMENT, PER_NUMBER, PER_NEIGHBOUR = 250 * 10**6, 1000, 7, 28
N_NEIGHBOURS = 40
# Smaller needs are not checked: every machine has this.
ALWAYS_THERE = 10**9


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
    """

    n_jobs: int = N_JOBS
    scheduler: str | None = None


def name_in_full(scheduler: str | None, *folders: Any) -> list[Any]:
    """Absolute paths where workers of a scheduler read them, as these may have been started in any folder."""
    if scheduler is None:
        return list(folders)
    return [Path(one).resolve() if isinstance(one, str | Path) and not is_uri(one) else one for one in folders]


def estimate_memory(n_segments: int, n_dims: int, n_neighbors: int = N_NEIGHBOURS) -> int:
    """Bytes that a vote of segments (n_segments, n_dims) takes, its model included; 5.7 GB for a million of 472."""
    return BASE + n_segments * (PER_SEGMENT + PER_NUMBER * n_dims + PER_NEIGHBOUR * n_neighbors)


def check_memory(n_segments: int, n_dims: int) -> None:
    """Refuse a vote that needs more memory than this machine has free, with the number of GB that are missing."""
    needed, free = estimate_memory(n_segments, n_dims), _measure_free_memory()
    if free is None or needed <= max(free, ALWAYS_THERE):
        return
    raise TooLargeError(
        f"the vote of {n_segments} segments needs {needed / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are free: "
        f"{(needed - free) / 1e9:.1f} GB are missing. Take fewer segments (--n-segments), or vote on a part of the "
        "images and `segvote predict` the rest"
    )


def _measure_free_memory() -> int | None:
    """Bytes that this machine can give, by Linux; elsewhere all that it has; None where neither is known."""
    meminfo = Path("/proc/meminfo")
    if meminfo.is_file():
        found = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        if "MemAvailable" in found:
            return int(found["MemAvailable"].split()[0]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
