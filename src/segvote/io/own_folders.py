"""Folders that segvote wrote: runs, predictions and exports. Their pictures are never read as images.

A run and a prediction are recognised by their record, an export by a hidden file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from segvote import __version__
from segvote.errors import BadInputError, SegvoteError
from segvote.io.stores import RECORDS
from segvote.io.tables import read_json, write_json

MARKER = ".segvote-export"  # without an extension: importers of folders read every .json
_FIELD = "segvote"  # of every record: the version; other programs write files called run.json, too


def is_own_folder(folder: Path | str) -> bool:
    """Whether a folder is a run, a prediction or an export."""
    return any(map(_is_record, (Path(folder, name) for name in (*RECORDS, MARKER))))


def _is_record(path: Path) -> bool:
    with contextlib.suppress(SegvoteError, OSError):
        return path.is_file() and _FIELD in read_json(path)
    return False


def mark_export(folder: Path, format: str) -> None:
    """Mark a folder as an export."""
    write_json(folder / MARKER, {_FIELD: __version__, "format": format})


def refuse_inside(out: Path | str, folders: Iterable[Path | str]) -> None:
    """Refuse an output folder that is a folder of images or lies inside one: its pictures would become images."""
    target = Path(out).resolve()
    for folder in folders:
        if target.is_relative_to(Path(folder).resolve()):
            raise BadInputError(
                f"expected -o outside of the images, but {out} lies inside the folder of images {folder}; choose "
                "a folder beside it"
            )
