"""Files that are either whole or absent: written to a hidden sibling, flushed to the disk, then renamed.

Every writer of segvote goes through `atomic_path`, so a process killed at any moment leaves the old file or the new,
never half of one. The sibling keeps the extension, because many encoders choose their format by it.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from segvote.errors import SegvoteError, UnwritableFileError
from segvote.io.names import PERCENT

_PREFIX = ".tmp-"  # hidden, so that folder listings never take a half-written picture for an input
_LEFTOVER = re.compile(r"\.tmp-[0-9a-f]{16}(\..*)?")  # long enough not to match files of other programs


@contextlib.contextmanager
def atomic_path(path: Path | str, durable: bool = True) -> Iterator[Path]:
    """Give a temporary sibling to write to; on leaving the block it becomes `path`, on an error it disappears.

    The sibling lies in the same folder, made when it is missing, and has the same extension; the block must create it.
    `durable` waits until the disk has it (about 10 ms), so that a power cut cannot take it back. A killed process loses
    nothing either way: leave it out for the many files that can be made again.
    """
    path = Path(path)
    with explain_failure(path):
        _refuse_device(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{_PREFIX}{secrets.token_hex(8)}{path.suffix}")
        try:
            yield temporary
            if durable:
                _flush(temporary)
            os.replace(temporary, path)
        except BaseException:  # Ctrl-C leaves no rubbish either
            with contextlib.suppress(OSError):  # the first reason is the one to tell
                temporary.unlink(missing_ok=True)
            raise
    if durable:
        _flush_folder(path.parent)


def _refuse_device(path: Path) -> None:
    """Raise for devices: root could otherwise replace /dev/null for the whole machine."""
    # A link is replaced itself, whatever it leads to.
    if path.exists() and not path.is_symlink() and not path.is_file():
        raise UnwritableFileError(f"{path} is no regular file; choose another name for what is to be written")


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
            f"cannot write {path} ({reason}); make room or give permission, then repeat the command"
        ) from error


def write_bytes(path: Path | str, data: bytes, durable: bool = True) -> None:
    """Write `data` to `path`, whole or not at all; see `atomic_path` for `durable`.

    A file that need not be flushed and holds the same bytes already is left as it is.
    """
    if not durable and _holds(Path(path), data):
        return
    with atomic_path(path, durable) as temporary:
        temporary.write_bytes(data)


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False


def write_text(path: Path | str, text: str) -> None:
    """Write `text` as UTF-8 with the line ends it has, whole or not at all.

    Bytes of file names that are no UTF-8 are written percent-encoded, see `segvote.io.names`.
    """
    write_bytes(path, text.encode("utf-8", errors=PERCENT))


def is_leftover(name: str) -> bool:
    """Whether a killed process may have left a file of this name half-written."""
    return _LEFTOVER.fullmatch(name) is not None


def remove_leftovers(folder: Path | str) -> int:
    """Delete what a killed process left half-written below `folder`; returns how many files that were."""
    leftovers = [path for path in sorted(Path(folder).rglob(f"{_PREFIX}*")) if is_leftover(path.name)]
    for leftover in leftovers:
        leftover.unlink(missing_ok=True)
    return len(leftovers)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush_folder(folder: Path) -> None:
    # Windows cannot open a folder, some network file systems cannot flush one; the rename is atomic there all the same.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
