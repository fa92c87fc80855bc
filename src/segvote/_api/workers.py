"""Workers of Dask for one call of the Python face."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from segvote.io.stores import find_local_path, is_uri
from segvote.kernels import ParallelMap
from segvote.scaling import Cluster, open_cluster


@contextlib.contextmanager
def open_workers(
    scheduler: str | Cluster | None, folders: Sequence[Any]
) -> Iterator[tuple[ParallelMap | None, list[Any]]]:
    """The parallel map of a scheduler, and the folders as its workers find them; None, and the folders as they are.

    A scheduler's address is connected to for the time of the ``with``; a cluster is open already.
    """
    if scheduler is None:
        yield None, list(folders)
        return
    full = [_name_in_full(one) for one in folders]
    if isinstance(scheduler, Cluster):
        yield scheduler.map, full
        return
    seen = [find_local_path(one) for one in full if isinstance(one, str | Path)]
    with open_cluster(scheduler=scheduler, folders=seen) as cluster:
        yield cluster.map, full


def _name_in_full(folder: Any) -> Any:
    """An absolute path: a worker may have been started anywhere."""
    return Path(folder).resolve() if isinstance(folder, str | Path) and not is_uri(folder) else folder
