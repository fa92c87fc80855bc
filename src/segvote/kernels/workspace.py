"""Where the large arrays of a vote lie, and what searches: memory and threads, or mapped files and other processes.

A function that makes arrays which grow with the number of segments takes a `Workspace` and makes them there. The
numbers are the same wherever they lie: work is split into the same blocks, each computed by one thread.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from threadpoolctl import threadpool_limits

from segvote.errors import UnwritableFileError

# Takes a function and items, yields the results in the order of the items.
ParallelMap = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]


@dataclass(frozen=True)
class Workspace:
    """A place for large arrays.

    Attributes
    ----------
    folder
        Where arrays are mapped from files, which go when the arrays go; None: in memory.
    parallel_map
        Does the work in the place of threads, by processes that see the folder under the same path; None: threads.
    n_threads
        As many blocks are under way at once, each with memory of its own; None: one for each core.
    """

    folder: Path | None = None
    parallel_map: ParallelMap | None = None
    n_threads: int | None = None

    def make_array(self, shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
        """An array of that shape; nothing is said of what it holds."""
        if self.folder is None:
            return np.empty(shape, dtype)
        path = self.make_path(".npy")
        try:
            mapped = np.lib.format.open_memmap(path, "w+", dtype, shape)
            _reserve(path)
        except OSError as error:
            _remove(path)
            raise self._explain(path, error.strerror or str(error)) from error
        weakref.finalize(mapped._mmap, _remove, path)  # type: ignore[attr-defined]
        return np.asarray(mapped)

    def make_path(self, suffix: str) -> Path:
        """Name of a new file; hidden and of the form that the next run in this folder removes, should we be killed."""
        assert self.folder is not None
        return self.folder.resolve() / f".tmp-{secrets.token_hex(8)}{suffix}"

    def share(self, array: np.ndarray) -> SharedArray:
        """The array for other processes, by its file; what lies in no file of this workspace is copied to one."""
        if self.parallel_map is not None and _find_file(array) is None:
            copy = self.make_array(array.shape, array.dtype)
            copy[:] = array
            array = copy
        return SharedArray(array)

    def run(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Yield ``function(item)`` for every item in order, each computed by one thread."""
        if self.parallel_map is not None:
            yield from self.parallel_map(function, items)
        elif len(items) == 1:
            # All threads may help; where that could change an answer there is more than one item.
            yield function(items[0])
        else:
            # Of OpenMP's threads every thread has a number of its own, of BLAS's all have one.
            n_threads = self.n_threads or os.cpu_count()
            with threadpool_limits(1), ThreadPoolExecutor(n_threads, initializer=_compute_alone) as pool:
                yield from pool.map(function, items)

    def _explain(self, path: Path, reason: str) -> UnwritableFileError:
        return UnwritableFileError(
            f"cannot map what is large from files in {path.parent} ({reason}); make room there, or give more --memory"
        )


class SharedArray:
    """An array that other processes open by its file instead of being sent it."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_shared, (str(_find_file(self.array)),)


MEMORY = Workspace()


def list_blocks(n: int, size: int) -> list[slice]:
    """Slices of at most `size` that make up 0 to n."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _find_file(array: np.ndarray) -> Path | None:
    """The file that `make_array` mapped the array from."""
    mapped: Any = array
    while isinstance(mapped, np.ndarray) and not isinstance(mapped, np.memmap):
        mapped = mapped.base
    if not isinstance(mapped, np.memmap) or mapped.filename is None or mapped.shape != array.shape:
        return None
    path = Path(mapped.filename)
    # A part of an array, too, knows the file of the whole.
    is_whole = mapped.offset + array.nbytes == path.stat().st_size and array.flags.c_contiguous
    return path if is_whole and path.name.startswith(".tmp-") else None


def _open_shared(path: str) -> SharedArray:
    return SharedArray(np.load(path, mmap_mode="r", allow_pickle=False))


def _reserve(path: Path) -> None:
    """Take the disk's space now: a mapped file that finds the disk full kills the process without a word."""
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # where files in use cannot be deleted, the next run does it
        path.unlink(missing_ok=True)


def _compute_alone() -> None:
    import faiss

    faiss.omp_set_num_threads(1)
