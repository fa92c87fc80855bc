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
import time
from collections.abc import Iterator
from pathlib import Path

from filelock import AcquireReturnProxy, FileLock, Timeout

from segvote.errors import BadInputError, BusyRunError, SegvoteError, UnwritableFileError
from segvote.io.names import PERCENT
from segvote.io.objects import fetch_placeholder

_PREFIX = ".tmp-"  # hidden, so that folder listings never take a half-written picture for an input
_LEFTOVER = re.compile(r"\.tmp-[0-9a-f]{16}(\..*)?")  # long enough not to match files of other programs
_LOCK = ".lock"
# Seconds between attempts to replace a file: Windows refuses while a reader or a virus scanner has it open.
_PAUSES = (0.01, 0.03, 0.1, 0.3, 1.0) if os.name == "nt" else ()
_HAS_JUNCTIONS = os.name == "nt"
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # Windows has none


def open_regular(path: Path | str) -> io.BufferedReader:
    """Open a file for reading; `OSError` where it is a pipe, a socket, a device or a folder, without waiting for it.

    Reading a pipe may block, a device may have no end.
    """
    fetch_placeholder(Path(path))
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
        place = tempfile.tempdir or os.environ.get("TMPDIR") or "/tmp"
        raise UnwritableFileError(
            f"no folder for temporary files can be made in {place} ({error.strerror}); set TMPDIR to a folder with "
            "free space"
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
            _replace(temporary, path)
        except BaseException:  # Ctrl-C included
            with contextlib.suppress(OSError):  # the first error is the one to report
                temporary.unlink(missing_ok=True)
            raise
    if durable:
        # Windows cannot open a folder, some network file systems cannot flush one; the rename is atomic all the same.
        with contextlib.suppress(OSError):
            _flush(path.parent, os.O_RDONLY)


def _replace(temporary: Path, path: Path) -> None:
    """Rename, again after each of the pauses where it is refused."""
    for pause in _PAUSES:
        with contextlib.suppress(PermissionError):
            os.replace(temporary, path)
            return
        time.sleep(pause)
    os.replace(temporary, path)


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
    with _take_lock(path):
        refuse_links(path)
        remove_leftovers(path)
        yield


def _take_lock(folder: Path) -> AcquireReturnProxy:
    """Lock the file, not the target of a link in its place; the system unlocks it when the process ends."""
    # Not of one thread: the thread that leaves the block need not be the one that entered it.
    lock = FileLock(folder / _LOCK, blocking=False, thread_local=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return lock.acquire()
    except Timeout as error:
        raise BusyRunError(
            f"another segvote is writing to {folder}; wait for it, stop it, or choose another -o folder"
        ) from error
    except OSError as error:
        raise BadInputError(f"cannot write to {folder} ({error.strerror}); choose another -o folder") from error


def refuse_links(folder: Path) -> None:
    """Raise for a link anywhere in a folder that leads out of it: an untrusted run must not read or write elsewhere."""
    for entry in _list_entries(folder):
        if _is_link(entry) and not Path(entry.path).resolve().is_relative_to(folder.resolve()):
            raise BadInputError(f"{entry.path} is a link out of the run folder; put its target in its place")


def _list_entries(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """All files and folders below a folder; links are not followed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry
            if not _is_link(entry) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):  # deleted meanwhile, or not readable: nothing in it is read
                    yield from _list_entries(entry.path)


def _is_link(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a symbolic link, or a junction, which Windows lets every user make."""
    if entry.is_symlink() or not _HAS_JUNCTIONS:
        return entry.is_symlink()
    attributes = getattr(entry.stat(follow_symlinks=False), "st_file_attributes", 0)
    return bool(attributes & stat.FILE_ATTRIBUTE_REPARSE_POINT)
