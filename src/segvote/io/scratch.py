"""A folder for what is needed for a moment."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from segvote.errors import UnwritableFileError


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
