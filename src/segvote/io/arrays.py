"""Named arrays in one file: numpy's zip without pickle, and variables of MATLAB files.

Every member of a zip carries a checksum that is verified on reading.
"""

from __future__ import annotations

import errno
import os
import struct
import threading
import zipfile
import zlib
from collections.abc import Container
from pathlib import Path
from tokenize import TokenError

import numpy as np

from segvote.errors import BadInputError, DamagedFileError, InaccessibleFileError
from segvote.io.decoding import MAX_PIXELS
from segvote.io.files import atomic_path, open_regular
from segvote.limits import check_budget, measure_on_disk

# Label maps shrink nearly as much at the lowest level as at the highest, in a quarter of the time.
COMPRESS_LEVEL = 1

# The header of an array is parsed as Python; CPython 3.11 loses count when two threads do so at once (SystemError).
_READING = threading.Lock()

# Errors of numpy and zipfile on damaged bytes: the header of an array is a Python expression.
DAMAGE = (
    OSError, ValueError, LookupError, EOFError, NotImplementedError, MemoryError, OverflowError, SyntaxError, TypeError,
    RuntimeError, TokenError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip

# Errors that say nothing about the content of a file.
INACCESSIBLE = (errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.EIO)


def write_arrays(path: Path | str, compress: bool = False, **arrays: np.ndarray) -> None:
    """Write arrays by name, whole or not at all; equal arrays give equal bytes.

    Not flushed to the disk one by one: a file damaged by a power cut fails its checksum and is made again.
    """
    kind = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with (
        atomic_path(path, durable=False) as temporary,
        zipfile.ZipFile(temporary, "w", kind, compresslevel=COMPRESS_LEVEL) as archive,
    ):
        for name, array in arrays.items():
            # By name: a ZipInfo would be compressed at zlib's default level, not the archive's. Its date is
            # always 1980: the time of writing would make equal arrays different files.
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


def read_arrays(path: Path | str, names: Container[str] | None = None) -> dict[str, np.ndarray]:
    """Read the arrays of a file, or some of them; `DamagedFileError` names one that is damaged or not there."""
    try:
        # numpy leaves the file open when it is no zip file; we do not.
        with _READING, open_regular(path) as file, np.load(file, allow_pickle=False) as archive:
            # A wrong length in an archive's list of members hides the members behind it.
            file.seek(-22, os.SEEK_END)
            n_members = int.from_bytes(file.read(22)[10:12], "little")
            if n_members != len(archive.files):
                raise zipfile.BadZipFile(f"{n_members} arrays are promised, {len(archive.files)} are listed")
            wanted = [name for name in archive.files if names is None or name in names]
            # Arrays of more than the budget are refused, unless they take that much on the disk already.
            sizes = {entry.filename.removesuffix(".npy"): entry.file_size for entry in archive.zip.infolist()}
            check_budget(sum(sizes[name] for name in wanted), Path(path), at_least=measure_on_disk(Path(path)))
            return {name: archive[name] for name in wanted}
    except FileNotFoundError as error:
        raise DamagedFileError(f"{path} is missing; run the command that made it again") from error
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno in INACCESSIBLE:
            raise InaccessibleFileError(
                f"cannot open {path} ({error.strerror}); see to its permissions, to the number of open files or to the "
                "disk, then run the command again"
            ) from error
        raise DamagedFileError(f"{path} is damaged ({error}); delete it and run the command again") from error


def read_if_whole(path: Path | str, names: Container[str] | None = None) -> dict[str, np.ndarray] | None:
    """As `read_arrays`, or None where the file is absent or damaged."""
    try:
        return read_arrays(path, names)
    except DamagedFileError:
        return None


# MATLAB ---------------------------------------------------------------------------------------------------------------


def read_mat(path: Path | str, variable: str, max_numbers: int | None = None) -> np.ndarray:
    """Read one variable of a MATLAB file; larger ones than `max_numbers` are refused before they are unpacked."""
    from scipy.io import loadmat, whosmat

    try:
        shapes = {name: shape for name, shape, _ in whosmat(path)}
        if variable not in shapes:
            raise BadInputError(f"{path}: expected the variable {variable!r}, got {', '.join(shapes) or 'none'}")
        if max_numbers is not None and np.prod(shapes[variable], dtype=float) > max_numbers:
            raise BadInputError(f"{path}: {variable} is {shapes[variable]}; at most {max_numbers} numbers are accepted")
        return np.asarray(loadmat(path, variable_names=[variable])[variable])
    except NotImplementedError as error:
        # scipy reads the formats up to 7; 7.3 is HDF5.
        raise BadInputError(
            f"{path} is a MATLAB file of version 7.3, which is not read; in MATLAB: save(name, '{variable}', '-v7')"
        ) from error
    except BadInputError:
        raise
    except Exception as error:  # damaged files raise errors of many kinds
        raise BadInputError(f"{path}: expected a MATLAB file, which this is not ({error}); unpack it again") from error


def read_ucm(path: Path | str) -> np.ndarray:
    """Read the array named ``ucm2``: (2 h + 1, 2 w + 1) float64 for an (h, w) image."""
    ucm2 = read_mat(path, "ucm2", 4 * MAX_PIXELS)
    if ucm2.dtype.kind not in "fiu" or not np.isfinite(ucm2).all() or (ucm2 < 0).any():
        raise BadInputError(f"{path}: ucm2 must hold strengths of 0 and above, got {ucm2.dtype}; give contour maps")
    return ucm2.astype(np.float64)
