"""How much memory a file from somewhere else may take when it is unpacked: one limit for all readers.

A small file can ask for any amount: by compression, by numbers that are used many times over, by a size in a header.
Readers of images have a limit in pixels besides (`segvote.io.decoding.MAX_PIXELS`).
"""

from __future__ import annotations

import os
from pathlib import Path

from segvote.errors import BadInputError, TooLargeError

DEFAULT_MB = 2048
VARIABLE = "SEGVOTE_READ_MB"


def get_budget() -> int:
    """Bytes that what is read from one file may take: `DEFAULT_MB`, or what the environment variable says."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return DEFAULT_MB << 20
    if not text.isascii() or not text.isdigit() or not 1 <= len(text) <= 9:
        raise BadInputError(f"expected {VARIABLE} to be a number of megabytes, got {text!r:.40}; try {DEFAULT_MB}")
    return int(text) << 20


def check_budget(n_bytes: int, where: object, at_least: int = 0) -> None:
    """Refuse what would take more than the budget.

    Parameters
    ----------
    n_bytes
        How much it would take.
    where
        Names the file in the error.
    at_least
        What is granted whatever the budget: the size of a file that is really there is no trick.
    """
    if n_bytes > max(get_budget(), at_least):
        raise TooLargeError(
            f"{where}: would take {n_bytes >> 20} MB of memory where {get_budget() >> 20} MB are granted; "
            f"if you trust the file, set {VARIABLE} to more"
        )


def measure_on_disk(path: Path) -> int:
    """Bytes of a file that lie on the disk: one with holes can have any length at no cost."""
    status = path.stat()
    return min(status.st_size, 512 * getattr(status, "st_blocks", status.st_size))
