"""Read torch weight files without torch and without running code from the file.

The format is that of ``torch.save`` before version 1.6, in which torchvision and the package of `lite0` publish their
weights: five pickles (magic number, protocol, system, state dictionary, keys of the storages), then the storages, each
an int64 count and raw numbers. The unpickler knows the few opcodes that state dictionaries consist of and three kinds
of names: storage types, ``_rebuild_tensor_v2`` and `OrderedDict`.
"""

from __future__ import annotations

import io
import math
import pickle
import struct
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from segvote.errors import BadInputError, DamagedFileError
from segvote.limits import check_budget

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
MAX_PICKLE_BYTES = 1 << 18  # of all pickles; 300 tensors take 60,000
UNREADABLE = (
    pickle.UnpicklingError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    struct.error,
)
STORAGE_TYPES = {  # names in torch, types in numpy
    "torch.DoubleStorage": "<f8",
    "torch.FloatStorage": "<f4",
    "torch.HalfStorage": "<f2",
    "torch.LongStorage": "<i8",
    "torch.IntStorage": "<i4",
}
CONSTANTS = {"NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE"}
CONTAINERS = {"EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_LIST", "APPEND", "APPENDS"}
ACTIONS = {"PROTO", "MARK", "STOP", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET", "GLOBAL", "BINPERSID", "REDUCE"}
OPCODES = {getattr(pickle, name)[0] for name in {*CONSTANTS, *CONTAINERS, *ACTIONS, "SETITEM", "SETITEMS"}}


class Storage(NamedTuple):
    """Numbers behind the pickles: key, numpy's type and count."""

    key: str
    dtype: str
    size: int


class Tensor(NamedTuple):
    """A view of a storage; offset and strides in elements."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_torch_file(path: str | Path) -> dict[str, np.ndarray]:
    """Read the tensors of a state dictionary, by name; raises `DamagedFileError` for everything else."""
    path = Path(path)
    if not path.is_file():
        raise BadInputError(f"expected a torch weight file at {path}, found no file; check the path")
    check_budget(path.stat().st_size, path)
    data = path.read_bytes()
    if data[:2] == b"PK":
        raise DamagedFileError(f"{path}: expected torch's format before 1.6, got a zip archive; save it as safetensors")
    try:
        return _read_arrays(data)
    except UNREADABLE as error:
        raise DamagedFileError(
            f"{path}: expected the tensors of a state dictionary and nothing else, got {type(error).__name__}: "
            f"{error!s:.120}; fetch the file again"
        ) from error


def _read_arrays(data: bytes) -> dict[str, np.ndarray]:
    pickles = io.BytesIO(data[:MAX_PICKLE_BYTES])
    magic, protocol, system, state, keys = (_Unpickler(pickles).load() for _ in range(5))
    if magic != MAGIC or protocol != PROTOCOL or system["little_endian"] is not True:
        raise ValueError("the first numbers are not those of a little-endian file of torch.save")
    if not all(type(key) is str for key in keys):
        raise ValueError("the key of a storage is no text")
    tensors = {name: tensor for name, tensor in state.items() if isinstance(tensor, Tensor)}
    storages = {tensor.storage.key: tensor.storage for tensor in tensors.values()}
    arrays, place = {}, pickles.tell()
    for key in keys:
        arrays[key] = np.frombuffer(data, storages[key].dtype, storages[key].size, place + 8)
        if data[place : place + 8] != len(arrays[key]).to_bytes(8, "little"):
            raise ValueError(f"another count of numbers in storage {key}")
        place += 8 + arrays[key].nbytes
    return {name: _take(tensor, arrays[tensor.storage.key]) for name, tensor in tensors.items()}


def _take(tensor: Tensor, numbers: np.ndarray) -> np.ndarray:
    """The numbers of a tensor, if all of them lie inside its storage and it has no more of them."""
    sides = list(zip(tensor.shape, tensor.strides, strict=True))
    last = tensor.offset + sum((side - 1) * stride for side, stride in sides)
    if 0 in tensor.shape:
        return np.zeros(tensor.shape, numbers.dtype)
    if math.prod(tensor.shape) > len(numbers) or last >= len(numbers):
        raise ValueError(f"a tensor does not fit its {len(numbers)} numbers")
    # The stride along a side of one is never taken; torch writes anything there.
    strides = [stride * numbers.itemsize * (side > 1) for side, stride in sides]
    return np.lib.stride_tricks.as_strided(numbers[tensor.offset :], tensor.shape, strides, writeable=False)


class _Dict(dict):
    def __setitem__(self, key: Any, value: Any) -> None:
        # Hashing a tuple that holds the same tuple twice, which holds the same tuple twice, …, would not end.
        if type(key) is not str:
            raise pickle.UnpicklingError("a key of a dictionary is no text")
        super().__setitem__(key, value)


def _make_tensor(storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> Tensor:
    _check_counts(offset, *shape, *strides)
    if not isinstance(storage, Storage):
        raise pickle.UnpicklingError("a tensor has no storage")
    return Tensor(storage, offset, shape, strides)


def _check_counts(*values: Any) -> None:
    if not all(type(value) is int and value >= 0 for value in values):
        raise pickle.UnpicklingError("a size or an offset is no count")


NAMES = {
    **STORAGE_TYPES,
    "collections.OrderedDict": lambda: _Dict(),
    "torch._utils._rebuild_tensor_v2": _make_tensor,
}


class _Unpickler(pickle._Unpickler):  # the one written in Python: its opcodes can be replaced, its memo is a dictionary
    dispatch: ClassVar[dict[int, Any]] = {
        **{opcode: pickle._Unpickler.dispatch[opcode] for opcode in OPCODES},
        pickle.EMPTY_DICT[0]: lambda self: self.stack.append(_Dict()),
        pickle.BUILD[0]: lambda self: self.stack.pop(),  # attributes of dictionaries are left out
    }

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if full not in NAMES:
            raise pickle.UnpicklingError(f"it asks for {full:.80}; refused, do not trust this file")
        return NAMES[full]

    def persistent_load(self, identity: Any) -> Storage:
        """A storage: ('storage', type, key, device, count, view)."""
        _, dtype, key, _, count, _ = identity
        _check_counts(count)
        if type(key) is not str or dtype not in list(STORAGE_TYPES.values()):
            raise pickle.UnpicklingError("a persistent object is no storage")
        return Storage(key, dtype, count)
