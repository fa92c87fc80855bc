"""Files are opened as regular files only: a pipe would wait for ever, a device has no end."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path


def open_regular(path: Path | str) -> io.BufferedReader:
    """Open a file for reading; `OSError` where it is a pipe, a socket, a device or a folder, without waiting for it."""
    # Without waiting, and asked after opening: what lies there may be exchanged between a look and the opening.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return open(descriptor, "rb")
