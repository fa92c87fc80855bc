"""Weights out of a torch file, without torch and without running what the file says.

Both formats of ``torch.save`` are read: the old one (five pickles and raw storages in a row) and the zip archive. The
pickles go through `tensor_pickle`, which admits tensors and dictionaries only. The answer is a dictionary of arrays.
"""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from segvote.errors import BadInputError, DamagedFileError, TooLargeError
from segvote.features.networks.tensor_pickle import Storage, Tensor, read_pickle
from segvote.memory_budget import check_budget

OLD_MAGIC = 0x1950A86A20F9469CFC6C
OLD_PROTOCOL = 1001
MAX_PICKLE_BYTES = 64 << 20  # names and shapes of the tensors in a zip archive, unpacked
MAX_NAME = 500  # letters of a tensor's name with those of all dictionaries around it
MAX_SHARING = 4  # how often the numbers of a file may be used: tied weights twice
# What reading a crooked archive or making an array of absurd shape may raise; RuntimeError is also nesting without end.
UNREADABLE = (OSError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, OverflowError, MemoryError)
NOT_TORCH = "expected a file of torch.save, the first bytes are of something else; check that it is a weight file"


def read_torch_file(path: str | Path) -> dict[str, np.ndarray]:
    """Read the tensors of a torch weight file.

    Parameters
    ----------
    path
        A file written by ``torch.save(model.state_dict(), path)``, in the old format or the zip format.

    Returns
    -------
    dict
        Name to C-contiguous array, in the order of the file; bfloat16 becomes float32. Dictionaries inside the
        dictionary are flattened with dots (``{"model": {"a": t}}`` gives ``model.a``); numbers and text are left out.

    Raises
    ------
    DamagedFileError
        The file is of neither format, is cut short, or asks for anything but tensors; the message names what.
    """
    path = Path(path)
    if not path.is_file():
        raise BadInputError(f"expected a torch weight file at {path}, found no file; check the path")
    try:
        with path.open("rb") as file:
            check_budget(path.stat().st_size, "the file")
            tensors, buffers = _read_zip(file) if zipfile.is_zipfile(file) else _read_old(file)
            _check_total(tensors, buffers)
            return {name: _make_array(tensor, buffers[tensor.storage.key]) for name, tensor in tensors.items()}
    except BadInputError:  # the budget itself is not a number
        raise
    except (DamagedFileError, TooLargeError) as error:
        raise type(error)(f"{path}: {error}") from error
    except UNREADABLE as error:
        raise DamagedFileError(f"{path}: expected a whole torch file, but {error}; fetch it again") from error


def _read_old(file: BinaryIO) -> tuple[dict[str, Tensor], dict[str, np.ndarray]]:
    file.seek(0)
    _check_old_header(file)
    tensors, keys = _find_tensors(read_pickle(file)), read_pickle(file)
    storages = _list_storages(tensors)
    if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(storages):
        raise DamagedFileError(f"expected the numbers of {len(storages)} storages, the file lists others")
    return tensors, {key: _read_old_storage(file, storages[key]) for key in keys}


def _check_old_header(file: BinaryIO) -> None:
    if file.read(2) != b"\x80\x02":  # every old file starts with a pickle of protocol 2
        raise DamagedFileError(NOT_TORCH)
    file.seek(0)
    if read_pickle(file) != OLD_MAGIC or read_pickle(file) != OLD_PROTOCOL:
        raise DamagedFileError(NOT_TORCH)
    system = read_pickle(file)
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise DamagedFileError("expected little-endian numbers; save the weights again on a little-endian machine")


def _read_old_storage(file: BinaryIO, storage: Storage) -> np.ndarray:
    header, n_left = file.read(8), _count_left(file)
    if header != storage.size.to_bytes(8, "little") or _count_bytes(storage) > n_left:
        raise DamagedFileError(f"expected {storage.size} numbers in storage {storage.key}; the file is cut short")
    return _make_buffer(file.read(_count_bytes(storage)), storage)


def _count_left(file: BinaryIO) -> int:
    place, end = file.tell(), file.seek(0, os.SEEK_END)
    return end - file.seek(place)


def _read_zip(file: BinaryIO) -> tuple[dict[str, Tensor], dict[str, np.ndarray]]:
    with zipfile.ZipFile(file) as archive:
        check_budget(sum(entry.file_size for entry in archive.infolist()), "the archive")
        root = _find_root(archive)
        if archive.getinfo(f"{root}data.pkl").file_size > MAX_PICKLE_BYTES:
            raise DamagedFileError("expected a short description of the tensors, the one in this archive has no end")
        with archive.open(f"{root}data.pkl") as pickled:
            tensors = _find_tensors(read_pickle(pickled))  # type: ignore[arg-type]
        if f"{root}byteorder" in archive.namelist() and archive.read(f"{root}byteorder") != b"little":
            raise DamagedFileError("expected little-endian numbers; save the weights again on a little-endian machine")
        storages = _list_storages(tensors).values()
        return tensors, {storage.key: _read_zip_storage(archive, root, storage) for storage in storages}


def _find_root(archive: zipfile.ZipFile) -> str:
    roots = [name.removesuffix("data.pkl") for name in archive.namelist() if name.endswith("/data.pkl")]
    if len(roots) != 1:
        raise DamagedFileError("expected a zip archive of torch.save with one data.pkl; check that it is a weight file")
    return roots[0]


def _read_zip_storage(archive: zipfile.ZipFile, root: str, storage: Storage) -> np.ndarray:
    name = f"{root}data/{storage.key}"
    if name not in archive.namelist() or archive.getinfo(name).file_size != _count_bytes(storage):
        raise DamagedFileError(f"expected {storage.size} numbers in {name}; the archive is damaged, fetch it again")
    return _make_buffer(archive.read(name), storage)


def _check_total(tensors: dict[str, Tensor], buffers: dict[str, np.ndarray]) -> None:
    """Refuse views that make much of little: strides of zero, and storages that are used again and again."""
    n_wanted = sum(math.prod(tensor.shape) for tensor in tensors.values())
    n_there = sum(len(buffer) for buffer in buffers.values())
    if n_wanted > MAX_SHARING * n_there:
        raise DamagedFileError(f"the tensors ask for {n_wanted} numbers, the file holds {n_there}; do not trust it")
    n_bytes = sum(math.prod(tensor.shape) * buffers[tensor.storage.key].itemsize for tensor in tensors.values())
    check_budget(n_bytes + sum(buffer.nbytes for buffer in buffers.values()), "the tensors")


def _find_tensors(state: Any) -> dict[str, Tensor]:
    if not isinstance(state, dict):
        raise DamagedFileError(f"expected a dictionary of tensors, got {type(state).__name__}; save model.state_dict()")
    return dict(_walk(state, "", set()))


def _walk(state: dict[Any, Any], prefix: str, seen: set[int]) -> Iterator[tuple[str, Tensor]]:
    if id(state) in seen:  # one inside itself, or many times the same
        raise DamagedFileError("expected each dictionary of tensors once, one is there several times")
    seen.add(id(state))
    for key, value in state.items():
        if type(key) not in (str, int):
            raise DamagedFileError(f"expected names of tensors, got a {type(key).__name__}; the file is damaged")
        if isinstance(value, Tensor):
            yield _join_name(prefix, key), value
        elif isinstance(value, dict):
            yield from _walk(value, f"{_join_name(prefix, key)}.", seen)


def _join_name(prefix: str, key: Any) -> str:
    # A tuple of tuples of tuples is short in the file and endless as text.
    if not isinstance(key, str | int) or (isinstance(key, str) and len(prefix) + len(key) > MAX_NAME):
        raise DamagedFileError(f"expected names of at most {MAX_NAME} letters for the tensors; save model.state_dict()")
    return f"{prefix}{key}"


def _list_storages(tensors: dict[str, Tensor]) -> dict[str, Storage]:
    storages: dict[str, Storage] = {}
    for tensor in tensors.values():
        if storages.setdefault(tensor.storage.key, tensor.storage) != tensor.storage:
            raise DamagedFileError(f"storage {tensor.storage.key} is described in two ways; the file is damaged")
    return storages


def _count_bytes(storage: Storage) -> int:
    itemsize = 2 if storage.dtype == "bf16" else np.dtype(storage.dtype).itemsize
    return storage.size * itemsize


def _make_buffer(data: bytes, storage: Storage) -> np.ndarray:
    if len(data) != _count_bytes(storage):
        raise DamagedFileError(f"expected {storage.size} numbers in storage {storage.key}; the file is cut short")
    if storage.dtype == "bf16":  # the upper half of a float32
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(data, storage.dtype)


def _make_array(tensor: Tensor, buffer: np.ndarray) -> np.ndarray:
    """Copy a view of a storage after checking that it stays inside."""
    n_values = math.prod(tensor.shape)
    last = tensor.offset + sum((side - 1) * stride for side, stride in zip(tensor.shape, tensor.strides, strict=True))
    if n_values > len(buffer) or (n_values > 0 and last >= len(buffer)):
        raise DamagedFileError(f"a tensor of shape {tensor.shape} does not fit its {len(buffer)} numbers")
    if n_values == 0:
        return np.zeros(tensor.shape, buffer.dtype)
    # The stride along a side of one is never taken; torch writes anything there.
    strides = [stride * buffer.itemsize * (side > 1) for side, stride in zip(tensor.shape, tensor.strides, strict=True)]
    view = np.lib.stride_tricks.as_strided(buffer[tensor.offset :], tensor.shape, strides)
    return np.ascontiguousarray(view).reshape(tensor.shape)
