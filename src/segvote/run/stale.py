"""Files that a run no longer vouches for: masks and heat maps of images that are not part of it any more."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from segvote.run.output_names import ENDINGS
from segvote.run.run_folder import RunFolder

__all__ = ["remove_stale"]

# Folders in which every file belongs to one bag, by its stem.
FOLDERS = ("masks", "heatmaps", "films", "tracks")


def remove_stale(run: RunFolder, stems: Iterable[str]) -> int:
    """Delete the pictures of bags that are gone; segments and features stay, an image may come back.

    The stems are those of all bags of a run folder, or of the folder of `predict`; below a video's stem lie its frames.
    Returns how many files were deleted.
    """
    known = set(stems)
    stale = [path for name in FOLDERS for path, stem in _list_files(run.path / name) if not _belongs(stem, known)]
    for path in stale:
        path.unlink(missing_ok=True)
    for name in FOLDERS:
        _remove_empty(run.path / name)
    return len(stale)


def _list_files(folder: Path) -> Iterable[tuple[Path, str]]:
    """Files that segvote could have written, with the stem they were written for."""
    for path in folder.rglob("*"):
        ending = next((one for one in ENDINGS if path.name.endswith(one)), None)
        if ending and path.is_file():
            yield path, path.relative_to(folder).as_posix().removesuffix(ending)


def _belongs(stem: str, known: set[str]) -> bool:
    return stem in known or any(parent.as_posix() in known for parent in PurePosixPath(stem).parents)


def _remove_empty(folder: Path) -> None:
    for parent, _, _ in os.walk(folder, topdown=False):
        if parent != str(folder) and not os.listdir(parent):
            os.rmdir(parent)
