"""Files and folders as they are opened: regular files only, and a folder for what is needed for a moment."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from segvote.errors import UnwritableFileError


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
        folder = tempfile.TemporaryDirectory(prefix="segvote-")
    except OSError as error:
        raise UnwritableFileError(
            f"no folder can be made for temporary files ({error.strerror}); set TMPDIR to a folder with room"
        ) from error
    with folder as name:
        yield Path(name)
