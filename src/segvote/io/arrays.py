"""Named arrays in one file: numpy's zip without pickle. Every member carries a checksum that is verified on reading."""

from __future__ import annotations

import math
import os
import struct
import threading
import zipfile
import zlib
from collections.abc import Container
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np

from segvote.errors import DamagedFileError
from segvote.io.atomic import atomic_path
from segvote.io.files import open_regular
from segvote.memory_budget import check_budget, measure_on_disk

# Label maps shrink nearly as much at the lowest level as at the highest, in a quarter of the time.
COMPRESS_LEVEL = 1

# Members up to so many bytes are read at once.
SMALL = 1 << 21
# How nearly all files begin, in numpy's format: magic string and version; then the length of the head, of two bytes.
FIRST_VERSION = b"\x93NUMPY\x01\x00"
HEAD_START = len(FIRST_VERSION)
HEAD = HEAD_START + 2

# The header of an array is parsed as Python; CPython 3.11 loses count when two threads do so at once (SystemError).
_READING = threading.Lock()

# What numpy and zipfile raise on damaged bytes: the header of an array is a Python expression in words.
DAMAGE = (
    OSError, ValueError, KeyError, EOFError, NotImplementedError, MemoryError, OverflowError, SyntaxError, TypeError,
    RuntimeError, TokenError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def write_arrays(path: Path | str, compress: bool = False, **arrays: np.ndarray) -> None:
    """Write arrays by name, whole or not at all; equal arrays give equal bytes.

    Not flushed to the disk one by one: what a power cut damages fails its checksum and is made again.
    """
    kind = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with (
        atomic_path(path, durable=False) as temporary,
        zipfile.ZipFile(temporary, "w", kind, compresslevel=COMPRESS_LEVEL) as archive,
    ):
        for name, array in arrays.items():
            # By name: a ZipInfo of our own would be compressed at zlib's default level, not the archive's. Its date is
            # always 1980: the time of writing would make equal arrays different files.
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


def read_arrays(path: Path | str, names: Container[str] | None = None) -> dict[str, np.ndarray]:
    """Read the arrays of a file, or some of them; `DamagedFileError` names one that is damaged or not there."""
    try:
        # numpy leaves the file open when it is no zip file; we do not.
        with _READING, open_regular(path) as file, np.load(file, allow_pickle=False) as archive:
            _check_count(file, archive)
            wanted = [name for name in archive.files if names is None or name in names]
            _check_sizes(Path(path), archive, wanted)
            return {name: _read_member(archive, name) for name in wanted}
    except FileNotFoundError as error:
        raise DamagedFileError(f"{path} is missing; run the command that made it again") from error
    except DAMAGE as error:
        raise DamagedFileError(f"{path} is damaged ({error}); delete it and run the command again") from error


def _read_member(archive: Any, name: str) -> np.ndarray:
    """One array; small ones at once, and what their heads say is parsed once for all that say the same."""
    member = f"{name}.npy"
    if member not in archive.zip.NameToInfo or archive.zip.getinfo(member).file_size > SMALL:
        return archive[name]
    content = archive.zip.read(member)
    start = HEAD + int.from_bytes(content[HEAD - 2 : HEAD], "little")
    if content[:HEAD_START] != FIRST_VERSION or start > len(content):
        return archive[name]
    shape, is_fortran, dtype = _parse_head(content[HEAD_START:start])
    if is_fortran or dtype.hasobject or len(content) - start != dtype.itemsize * math.prod(shape):
        return archive[name]
    return np.frombuffer(content, dtype, offset=start).reshape(shape).copy()


@lru_cache(maxsize=4096)
def _parse_head(head: bytes) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and type of an array from its length-prefixed head, as numpy parses it: a tenth of a millisecond."""
    return np.lib.format.read_array_header_1_0(BytesIO(head))


def _check_count(file: BinaryIO, archive: Any) -> None:
    """Refuse an archive that lists fewer members than its end says: a wrong length in the list hides those behind."""
    file.seek(-22, os.SEEK_END)
    n_members = int.from_bytes(file.read(22)[10:12], "little")
    if n_members != len(archive.files):
        raise zipfile.BadZipFile(f"{n_members} arrays are promised, {len(archive.files)} are listed")


def _check_sizes(path: Path, archive: Any, names: list[str]) -> None:
    """Refuse arrays that would unpack to more than the budget, unless they take that much on the disk already."""
    wanted = {f"{name}.npy" for name in names} | set(names)
    n_bytes = sum(entry.file_size for entry in archive.zip.infolist() if entry.filename in wanted)
    check_budget(n_bytes, path, at_least=measure_on_disk(path))


def read_if_whole(path: Path | str, names: Container[str] | None = None) -> dict[str, np.ndarray] | None:
    """As `read_arrays`, or None where the file is absent or damaged: then it is made again."""
    try:
        return read_arrays(path, names)
    except DamagedFileError:
        return None
