"""What a command may use: the bound of memory, workers of Dask, and what is done with those."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from segvote.cli.options import SCALE, option
from segvote.io.remote.addresses import find_local_path

if TYPE_CHECKING:
    from segvote.scaling import Cluster

MEMORY = option(
    None,
    panel=SCALE,
    metavar="SIZE",
    help="Of the vote, such as 4GB; the rest is mapped from files.",
)
WORKERS = option(None, panel=SCALE, metavar="INT", min=1, help="Instead of --jobs: Dask workers on this machine.")
SCHEDULER = option(None, panel=SCALE, metavar="ADDRESS", help="Instead of --jobs: a Dask scheduler, tcp://host:8786.")


@contextlib.contextmanager
def open_workers(
    n_workers: int | None, scheduler: str | None, paths: Sequence[Path | str | None]
) -> Iterator[Cluster | None]:
    """The workers, where some are asked for, inside a ``with``; they have to see the paths."""
    if n_workers is None and scheduler is None:
        yield None
        return
    from segvote.scaling import open_cluster

    # What lies in a store is fetched once, to the cache of this process: that is the folder to be seen.
    seen = [find_local_path(one).resolve() for one in paths if one is not None]
    with open_cluster(n_workers, scheduler, seen) as cluster:
        typer.echo(f"dashboard {cluster.dashboard}", err=True)
        yield cluster
