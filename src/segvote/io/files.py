"""Files that are either whole or absent, regular files for reading, and folders that one process at a time writes to.

Every writer of segvote goes through `atomic_path`: a file is written to a hidden sibling, flushed to the disk, then
renamed. A process killed at any moment leaves the old file or the new, never half of one.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from segvote.errors import BadInputError, BusyRunError, SegvoteError, UnwritableFileError
from segvote.io.names import PERCENT

_PREFIX = ".tmp-"  # hidden, so that folder listings never take a half-written picture for an input
_LEFTOVER = re.compile(r"\.tmp-[0-9a-f]{16}(\..*)?")  # long enough not to match files of other programs
_LOCK = ".lock"
_NO_LINK, _NO_WAIT = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)  # Windows has neither


def open_regular(path: Path | str) -> io.BufferedReader:
    """Open a file for reading; `OSError` where it is a pipe, a socket, a device or a folder, without waiting for it.

    Reading a pipe may block, a device may have no end.
    """
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return open(descriptor, "rb")


@contextlib.contextmanager
def open_scratch() -> Iterator[Path]:
    """A new folder that only its owner can enter, deleted at the end of the ``with``."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="segvote-", ignore_cleanup_errors=True)
    except OSError as error:
        raise UnwritableFileError(
            f"no folder can be made for temporary files ({error.strerror}); set TMPDIR to a folder with free space"
        ) from error
    with folder as name:
        yield Path(name)


# Writing -------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def atomic_path(path: Path | str, durable: bool = True) -> Iterator[Path]:
    """Give a temporary sibling to write to; on leaving the block it becomes `path`, on an error it disappears.

    The sibling lies in the same folder, made when it is missing, and has the same extension, by which many encoders
    choose their format; the block must create it. `durable` waits until the disk has it (about 10 ms), so that a power
    cut cannot take it back. A killed process loses nothing either way: leave it out for the many files that can be made
    again.
    """
    path = Path(path)
    with explain_failure(path):
        # Root could otherwise replace /dev/null for the whole machine. A link is replaced itself.
        if path.exists() and not path.is_symlink() and not path.is_file():
            raise UnwritableFileError(f"{path} is no regular file; choose another name for the file to write")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{_PREFIX}{secrets.token_hex(8)}{path.suffix}")
        try:
            yield temporary
            if durable:
                _flush(temporary, os.O_RDWR)
            os.replace(temporary, path)
        except BaseException:  # Ctrl-C included
            with contextlib.suppress(OSError):  # the first error is the one to report
                temporary.unlink(missing_ok=True)
            raise
    if durable:
        # Windows cannot open a folder, some network file systems cannot flush one; the rename is atomic all the same.
        with contextlib.suppress(OSError):
            _flush(path.parent, os.O_RDONLY)


def _flush(path: Path, mode: int) -> None:
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def explain_failure(path: Path) -> Iterator[None]:
    """Turn the system error of a failed write into `UnwritableFileError` with the name of the file."""
    try:
        yield
    except SegvoteError:
        raise
    except OSError as error:
        if isinstance(error, FileNotFoundError) and path.parent.is_dir():
            raise  # the block wrote nothing
        reason = error.strerror or str(error)
        raise UnwritableFileError(
            f"cannot write {path} ({reason}); free some space or give permission, then repeat the command"
        ) from error


def write_bytes(path: Path | str, data: bytes, durable: bool = True) -> None:
    """Write `data` to `path`, whole or not at all; see `atomic_path` for `durable`.

    A file that need not be flushed and holds the same bytes already is left as it is.
    """
    if not durable:
        with contextlib.suppress(OSError), open_regular(path) as file:
            if os.fstat(file.fileno()).st_size == len(data) and file.read() == data:
                return
    with atomic_path(path, durable) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path | str, text: str) -> None:
    """Write `text` as UTF-8 with the line ends it has, whole or not at all.

    Bytes of file names that are no UTF-8 are written percent-encoded, see `segvote.io.names`.
    """
    write_bytes(path, text.encode("utf-8", errors=PERCENT))


def is_leftover(name: str) -> bool:
    """Whether a killed process may have left a file of this name half-written."""
    return _LEFTOVER.fullmatch(name) is not None


def remove_leftovers(folder: Path | str) -> int:
    """Delete the half-written files of killed processes below `folder`; returns how many there were."""
    leftovers = [path for path in Path(folder).rglob(f"{_PREFIX}*") if is_leftover(path.name)]
    for leftover in leftovers:
        leftover.unlink(missing_ok=True)
    return len(leftovers)


# Locks ---------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def hold_folder(path: Path) -> Iterator[None]:
    """Hold a folder, which is made if need be; another process that tries meanwhile gets `BusyRunError`."""
    with _open_lock(path / _LOCK) as file:
        if not _try_lock(file.fileno()):
            raise BusyRunError(
                f"another segvote is writing to {path}; wait for it, stop it, or choose another -o folder"
            )
        folders = (Path(root, name) for root, names, _ in os.walk(path) for name in names)
        refuse_links([*path.iterdir(), *folders], path)
        remove_leftovers(path)
        yield


def _open_lock(path: Path) -> BinaryIO:
    """Open the lock's file, not the target of a link in its place, which may lie outside the folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK | _NO_WAIT, 0o644), "r+b", buffering=0)
    except OSError as error:
        raise BadInputError(f"cannot write to {path.parent} ({error.strerror}); choose another -o folder") from error


def _try_lock(descriptor: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def refuse_links(entries: Iterable[Path], folder: Path) -> None:
    """Raise for links out of a folder: writing into an untrusted run must not write anywhere else."""
    for entry in entries:
        if entry.is_symlink() and not entry.resolve().is_relative_to(folder.resolve()):
            raise BadInputError(f"{entry} is a link out of the run folder; put its target in its place")
