"""The pickles inside torch weight files, read by an unpickler that knows tensors and dictionaries and nothing else.

Unpickling calls what the pickle names. Here every name but torch's storages, ``_rebuild_tensor_v2`` and `OrderedDict`
is refused, and these stand for objects of ours that cannot be changed. Opcodes that state dictionaries do without are
refused before anything is unpickled, and so is what could fill the memory or never end.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any, BinaryIO, NamedTuple

from segvote.errors import DamagedFileError

MAX_SIDES = 8  # dimensions of a tensor
MAX_OPCODES = 2_000_000  # a state dictionary of 300 tensors has ten thousand
TUPLES = {"TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"}
PUTS, GETS = {"BINPUT", "LONG_BINPUT", "MEMOIZE"}, {"BINGET", "LONG_BINGET"}
CONSTANTS = {"BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE", "SHORT_BINUNICODE", "BINFLOAT", "NONE"}
CONSTANTS |= {"NEWTRUE", "NEWFALSE", "EMPTY_TUPLE", "EMPTY_LIST", "EMPTY_DICT"}
ACTIONS = {"MARK", "APPEND", "APPENDS", "SETITEM", "SETITEMS", "GLOBAL", "STACK_GLOBAL", "BINPERSID", "REDUCE", "BUILD"}
OPCODES = TUPLES | PUTS | GETS | CONSTANTS | ACTIONS | {"PROTO", "FRAME", "STOP"}

STORAGE_TYPES = {  # torch's names, numpy's types as they lie in the file
    "torch.DoubleStorage": "<f8",
    "torch.FloatStorage": "<f4",
    "torch.HalfStorage": "<f2",
    "torch.BFloat16Storage": "bf16",  # numpy has no such type: the reader widens it
    "torch.LongStorage": "<i8",
    "torch.IntStorage": "<i4",
    "torch.ShortStorage": "<i2",
    "torch.CharStorage": "<i1",
    "torch.ByteStorage": "<u1",
    "torch.BoolStorage": "|b1",
}


class StorageType(NamedTuple):
    """One of `STORAGE_TYPES`."""

    dtype: str


class Storage(NamedTuple):
    """A run of numbers elsewhere in the file."""

    key: str
    dtype: str
    size: int


class Tensor(NamedTuple):
    """A view of a storage: offset and strides count elements."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_pickle(file: BinaryIO) -> Any:
    """Read one pickle from the current position and leave the file right behind it.

    Returns
    -------
    object
        Numbers, strings, tuples, lists, dictionaries and `Tensor`.
    """
    start = file.tell()
    try:
        _check_opcodes(file)
        end = file.tell()
        file.seek(start)
        return _Unpickler(io.BytesIO(file.read(end - start)), fix_imports=False).load()
    except DamagedFileError:
        raise
    except (pickle.UnpicklingError, EOFError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DamagedFileError(f"the description of the tensors is cut short or damaged ({error})") from error


def _check_opcodes(file: BinaryIO) -> None:
    """Parse a pickle without executing it."""
    tuples: set[int] = set()  # places in the memo that hold tuples
    n_kept, before = 0, ""
    for n_done, (opcode, argument, _) in enumerate(pickletools.genops(file)):
        if n_done > MAX_OPCODES or (opcode.name in PUTS and (argument or 0) > MAX_OPCODES):
            raise DamagedFileError(f"expected a state dictionary, got a pickle of over {MAX_OPCODES} steps")
        if opcode.name not in OPCODES:
            raise _refuse(f"the pickle opcode {opcode.name}")
        if opcode.name in PUTS:
            place = n_kept if argument is None else argument
            (tuples.add if before in TUPLES else tuples.discard)(place)
            n_kept += 1
        elif opcode.name in GETS and argument in tuples:
            raise _refuse("a tuple twice")  # hashing nested shared tuples takes exponential time
        before = opcode.name


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if full in STORAGE_TYPES:
            return StorageType(STORAGE_TYPES[full])
        if full not in FUNCTIONS:
            raise _refuse(full)
        return FUNCTIONS[full]

    def persistent_load(self, identity: Any) -> Storage:
        """Check torch's persistent id: ('storage', type, key, place, count[, view])."""
        if not isinstance(identity, tuple) or len(identity) not in (5, 6) or identity[0] != "storage":
            raise _refuse("a persistent object that is no storage")
        _, kind, key, _, count = identity[:5]
        if not isinstance(kind, StorageType):
            raise _refuse(f"a storage of type {type(kind).__name__}")
        if not isinstance(key, str) or not _are_counts((count,)) or identity[5:] not in ((), (None,)):
            raise DamagedFileError("expected a storage with a key and a count; the file is damaged")
        return Storage(key, kind.dtype, count)


class _Dict(dict):
    """An ordered dictionary; the version numbers that torch hangs on it are dropped."""

    __slots__ = ()

    def __setstate__(self, state: Any) -> None:
        pass


class _MakeDict:
    """Called by the pickle; without a dictionary of its own, so that the pickle cannot change it."""

    __slots__ = ()

    def __call__(self) -> _Dict:
        return _Dict()


class _MakeTensor:
    """As `_MakeDict`; what comes after the strides is about gradients."""

    __slots__ = ()

    def __call__(self, storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> Tensor:
        if not isinstance(storage, Storage) or not all(map(_are_counts, ((offset,), shape, strides))):
            raise DamagedFileError("expected a tensor as storage, offset, shape and strides; the file is damaged")
        if len(shape) != len(strides) or len(shape) > MAX_SIDES:
            raise DamagedFileError(
                f"expected as many strides as sides, at most {MAX_SIDES}; got {len(strides)}, {len(shape)}"
            )
        return Tensor(storage, offset, shape, strides)


FUNCTIONS = {"collections.OrderedDict": _MakeDict(), "torch._utils._rebuild_tensor_v2": _MakeTensor()}


def _refuse(what: str) -> DamagedFileError:
    return DamagedFileError(f"expected nothing but tensors, the file asks for {what}; refused, do not trust this file")


def _are_counts(values: Any) -> bool:
    return isinstance(values, tuple) and all(type(value) is int and value >= 0 for value in values)
