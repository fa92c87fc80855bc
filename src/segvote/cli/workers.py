"""Workers of Dask on the command line: the two options, and what is done with them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from segvote.cli.options import SCALE, option
from segvote.io.remote.addresses import find_local_path, is_uri

__all__ = ["SCHEDULER", "WORKERS", "open_workers"]

WORKERS = option(None, panel=SCALE, metavar="INT", min=1, help="Instead of --jobs: Dask workers on this machine.")
SCHEDULER = option(None, panel=SCALE, metavar="ADDRESS", help="Instead of --jobs: a Dask scheduler, tcp://host:8786.")


@contextlib.contextmanager
def open_workers(
    n_workers: int | None, scheduler: str | None, paths: Sequence[Path | str | None]
) -> Iterator[list[Any]]:
    """The workers, where some are asked for, inside a ``with``; yields the paths as those can find them."""
    if n_workers is None and scheduler is None:
        yield list(paths)
        return
    from segvote.scaling import open_cluster

    # A worker may have been started anywhere.
    full: list[Any] = [one if one is None or is_uri(one) else Path(one).resolve() for one in paths]
    # What lies in a store is fetched once, to the cache of this process: that is the folder to be seen.
    with open_cluster(n_workers, scheduler, [find_local_path(one) for one in full if one is not None]) as cluster:
        typer.echo(f"dashboard {cluster.dashboard}", err=True)
        if not cluster.shares_disk:
            typer.echo("the workers do not see all folders of this machine: they are sent the files", err=True)
        yield full
