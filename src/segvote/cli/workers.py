"""Workers of Dask on the command line: the two options, and what is done with them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from segvote.errors import BadInputError
from segvote.io.addresses import CACHE_VARIABLE, find_place, is_url

__all__ = ["SCHEDULER", "WORKERS", "open_workers"]

WORKERS = typer.Option(None, min=1, help="Instead of --jobs: so many workers of Dask on this machine.")
SCHEDULER = typer.Option(
    None, metavar="ADDRESS", help="Instead of --jobs: the workers of a Dask scheduler, tcp://host:8786."
)


@contextlib.contextmanager
def open_workers(
    n_workers: int | None, scheduler: str | None, places: Sequence[Path | str | None]
) -> Iterator[list[Any]]:
    """The workers, where some are asked for, inside a ``with``; yields the places as those can find them."""
    if n_workers is None and scheduler is None:
        yield list(places)
        return
    from segvote.scaling import open_cluster

    # A worker may have been started anywhere.
    full: list[Any] = [place if place is None or is_url(place) else Path(place).resolve() for place in places]
    with open_cluster(n_workers, scheduler) as cluster:
        cluster.check_folders(_find_nearest(place) for place in full if isinstance(place, Path))
        _check_mirrors(cluster, [place for place in full if is_url(place)])
        typer.echo(f"dashboard {cluster.dashboard}", err=True)
        yield full


def _check_mirrors(cluster: Any, urls: Sequence[str]) -> None:
    """What lies in a store is fetched once, to the cache of this process: there the workers read and write."""
    folders = [find_place(url).parent for url in urls]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    try:
        cluster.check_folders(folders)
    except BadInputError as error:
        raise BadInputError(f"{error}, or set {CACHE_VARIABLE} to a folder that they share") from error


def _find_nearest(folder: Path) -> Path:
    """The folder, or the one above it in which it will be made."""
    return next(part for part in (folder, *folder.parents) if part.is_dir())
