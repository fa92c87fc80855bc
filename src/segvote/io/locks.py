"""A folder held for writing by one process at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from segvote.errors import BadInputError, BusyRunError
from segvote.io.atomic import explain_failure, remove_leftovers

__all__ = ["hold_folder", "refuse_links"]


@contextlib.contextmanager
def hold_folder(path: Path) -> Iterator[None]:
    """Hold a folder, which is made if need be; another process that tries meanwhile gets `BusyRunError`."""
    _make_folder(path)
    with explain_failure(path / ".lock"):
        file = (path / ".lock").open("a+")
    with file:
        if not _try_lock(file.fileno()):
            raise BusyRunError(f"another segvote is writing to {path}; wait for it or choose another -o folder")
        folders = (Path(root, name) for root, names, _ in os.walk(path) for name in names)
        refuse_links([*path.iterdir(), *folders], path)
        remove_leftovers(path)
        yield


def refuse_links(entries: Iterable[Path], folder: Path) -> None:
    """Writing into a run that a stranger made must not write anywhere else."""
    for entry in entries:
        if entry.is_symlink() and not entry.resolve().is_relative_to(folder.resolve()):
            raise BadInputError(f"{entry} is a link out of the run folder; put what it stands for in its place")


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".lock"
        probe.touch()
    except OSError as error:
        raise BadInputError(f"cannot write to {path} ({error.strerror}); choose another -o folder") from error


def _try_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
