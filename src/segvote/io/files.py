"""Regular files opened for reading, temporary folders, and folders held for writing by one process at a time."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from segvote.errors import BadInputError, BusyRunError, UnwritableFileError
from segvote.io.atomic import remove_leftovers


def open_regular(path: Path | str) -> io.BufferedReader:
    """Open a file for reading; `OSError` where it is a pipe, a socket, a device or a folder, without waiting for it.

    Reading a pipe may block, a device may have no end.
    """
    # Without waiting, and asked after opening: what lies there may be exchanged between a look and the opening.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return open(descriptor, "rb")


@contextlib.contextmanager
def open_scratch() -> Iterator[Path]:
    """A new folder that only its owner can enter, deleted at the end of the ``with``."""
    try:
        # What cannot be deleted is left: the command has an error of its own to report.
        folder = tempfile.TemporaryDirectory(prefix="segvote-", ignore_cleanup_errors=True)
    except OSError as error:
        raise UnwritableFileError(
            f"no folder can be made for temporary files ({error.strerror}); set TMPDIR to a folder with room"
        ) from error
    with folder as name:
        yield Path(name)


NAME = ".lock"
NO_LINK, NO_WAIT = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)  # Windows has neither


@contextlib.contextmanager
def hold_folder(path: Path) -> Iterator[None]:
    """Hold a folder, which is made if need be; another process that tries meanwhile gets `BusyRunError`."""
    with _open_lock(path / NAME) as file:
        if not _try_lock(file.fileno()):
            raise BusyRunError(
                f"another segvote is writing to {path}; wait for it, stop it, or choose another -o folder"
            )
        folders = (Path(root, name) for root, names, _ in os.walk(path) for name in names)
        refuse_links([*path.iterdir(), *folders], path)
        remove_leftovers(path)
        yield


def _open_lock(path: Path) -> BinaryIO:
    """The lock's file itself: what a link in its place leads to is not ours to write to."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK | NO_WAIT, 0o644), "r+b", buffering=0)
    except OSError as error:
        raise BadInputError(f"cannot write to {path.parent} ({error.strerror}); choose another -o folder") from error


def refuse_links(entries: Iterable[Path], folder: Path) -> None:
    """Raise for links: writing into an untrusted run must not write anywhere else."""
    for entry in entries:
        if entry.is_symlink() and not entry.resolve().is_relative_to(folder.resolve()):
            raise BadInputError(f"{entry} is a link out of the run folder; put what it stands for in its place")


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
