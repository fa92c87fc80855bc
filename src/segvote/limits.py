"""Memory limit for the content of untrusted files, shared by all readers.

A small file can ask for any amount: by compression, by repeated numbers, by a size in a header. Readers of images also
have a limit in pixels (`segvote.io.decoding.MAX_PIXELS`).
"""

from __future__ import annotations

import os
from pathlib import Path

from segvote.errors import BadInputError, TooLargeError

DEFAULT_MB = 2048
VARIABLE = "SEGVOTE_READ_MB"


def get_budget() -> int:
    """Bytes that the content of one file may take: `DEFAULT_MB`, or the environment variable `VARIABLE`."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return DEFAULT_MB << 20
    if not text.isascii() or not text.isdigit() or not 1 <= len(text) <= 9:
        raise BadInputError(f"expected {VARIABLE} to be a number of megabytes, got {text!r:.40}; try {DEFAULT_MB}")
    return int(text) << 20


def check_budget(n_bytes: int, where: object, at_least: int = 0) -> None:
    """Raise if `n_bytes` exceed the budget, and `at_least`, such as the size of the file on disk.

    `where` names the file in the error.
    """
    if n_bytes > max(get_budget(), at_least):
        raise TooLargeError(
            f"{where}: would take {n_bytes >> 20} MB of memory where {get_budget() >> 20} MB are granted; "
            f"if you trust the file, set {VARIABLE} to more"
        )


def measure_on_disk(path: Path) -> int:
    """Bytes that a file occupies on disk: a sparse file can have any length."""
    status = path.stat()
    return min(status.st_size, 512 * getattr(status, "st_blocks", status.st_size))
