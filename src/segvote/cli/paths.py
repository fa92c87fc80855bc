"""Folders on the command line: paths, or addresses of a store (``s3://bucket/folder``), which no path can hold."""

from __future__ import annotations

from pathlib import Path

import typer

from segvote.io.stores import is_uri, name_path_or_uri


class PathOrUri(str):
    """A path or an address as it was typed: a `Path` would make one slash of an address's two."""

    __slots__ = ()


RUN = typer.Argument(
    ..., metavar="RUN", parser=PathOrUri, help="Run folder of `segvote annotate`; a path or s3://bucket/folder."
)


def format_path(path: Path) -> str:
    """The address of which a folder is the local copy, the path of any other as it was given."""
    named = name_path_or_uri(path)
    return named if is_uri(named) else str(path)
