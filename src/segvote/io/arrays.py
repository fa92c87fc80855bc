"""Named arrays in one file: numpy's zip without pickle. Every member carries a checksum that is verified on reading."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from segvote.errors import DamagedFileError
from segvote.io.atomic import atomic_path

__all__ = ["read_arrays", "write_arrays"]

DAMAGE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError)


def write_arrays(path: Path | str, compress: bool = False, **arrays: np.ndarray) -> None:
    """Write arrays by name, whole or not at all; equal arrays give equal bytes.

    Not flushed to the disk one by one: what a power cut damages fails its checksum and is made again.
    """
    write = np.savez_compressed if compress else np.savez
    with atomic_path(path, durable=False) as temporary, temporary.open("wb") as file:
        write(file, **arrays)  # type: ignore[arg-type]


def read_arrays(path: Path | str) -> dict[str, np.ndarray]:
    """Read all arrays of a file; `DamagedFileError` names it where a checksum or a header is wrong."""
    try:
        # numpy leaves the file open when it is no zip file; we do not.
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise
    except DAMAGE as error:
        raise DamagedFileError(f"{path} is damaged ({error}); delete it and run the command again") from error
