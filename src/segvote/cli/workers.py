"""Workers of Dask on the command line: the two options, and what is done with them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

__all__ = ["SCHEDULER", "WORKERS", "open_workers"]

WORKERS = typer.Option(None, min=1, help="Instead of --jobs: so many workers of Dask on this machine.")
SCHEDULER = typer.Option(
    None, metavar="ADDRESS", help="Instead of --jobs: the workers of a Dask scheduler, tcp://host:8786."
)


@contextlib.contextmanager
def open_workers(n_workers: int | None, scheduler: str | None, places: Sequence[Path | None]) -> Iterator[list[Any]]:
    """The workers, where some are asked for, inside a ``with``; yields the places as those can find them."""
    if n_workers is None and scheduler is None:
        yield list(places)
        return
    from segvote.scaling import open_cluster

    # A worker may have been started anywhere.
    full = [None if place is None else place.resolve() for place in places]
    with open_cluster(n_workers, scheduler) as cluster:
        cluster.check_folders(
            next(part for part in (place, *place.parents) if part.is_dir()) for place in full if place
        )
        typer.echo(f"dashboard {cluster.dashboard}", err=True)
        yield full
