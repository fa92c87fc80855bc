"""What the steps of one call may use: processes, memory, and perhaps workers elsewhere. None of it changes a result."""

from __future__ import annotations

import re
from dataclasses import dataclass

from segvote.errors import BadInputError
from segvote.kernels import ParallelMap

# Processes, where a call does not say how many.
N_JOBS = 2
UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([KMGT]?B?)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Resources:
    """What one call may use.

    Attributes
    ----------
    n_jobs
        Number of processes, or of threads.
    memory
        Bytes that a vote may take; None: no bound.
    parallel_map
        Does the work in the place of processes and threads of this machine, such as `segvote.scaling.Cluster.map`;
        whatever it runs on sees the folders of this machine. None: this machine works itself.
    """

    n_jobs: int = N_JOBS
    memory: int | None = None
    parallel_map: ParallelMap | None = None


def make_resources(
    n_jobs: int = N_JOBS, memory: str | int | None = None, parallel_map: ParallelMap | None = None
) -> Resources:
    """As `Resources`, with the memory as `parse_size` reads it."""
    return Resources(n_jobs, None if memory is None else parse_size(memory), parallel_map)


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
