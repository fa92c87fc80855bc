"""An interpreter for the pickles inside torch weight files that cannot run code.

A pickle is a program for a stack machine. Loading it would call whatever it names; this machine knows the opcodes that
torch's state dictionaries consist of and calls two functions only: rebuild a tensor, make an ordered dictionary. A name
is a word here (`Global`), never the object it stands for, and any other name or opcode is refused by name.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

from segvote.errors import DamagedFileError

__all__ = ["STORAGE_TYPES", "Storage", "Tensor", "run_pickle"]

MAX_SIDES = 8  # dimensions of a tensor
MAX_OPCODES = 2_000_000  # a state dictionary of 300 tensors has ten thousand

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
ORDERED_DICT = "collections.OrderedDict"
REBUILD_TENSOR = "torch._utils._rebuild_tensor_v2"


@dataclass(frozen=True)
class Global:
    """A name that the pickle mentions."""

    name: str


@dataclass(frozen=True)
class Storage:
    """A run of numbers elsewhere in the file."""

    key: str
    dtype: str
    count: int


@dataclass(frozen=True)
class Tensor:
    """A view of a storage: offset and strides count elements."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def run_pickle(file: BinaryIO) -> Any:
    """Interpret one pickle from the current position and leave the file right behind it.

    Returns
    -------
    object
        Numbers, strings, tuples, lists, dictionaries and `Tensor`.
    """
    machine = _Machine()
    try:
        for n_done, (opcode, argument, _) in enumerate(pickletools.genops(file)):
            if n_done > MAX_OPCODES:
                raise DamagedFileError(f"expected a state dictionary, got a pickle of over {MAX_OPCODES} steps")
            machine.step(opcode.name, argument)
        return machine.get_answer()
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, DamagedFileError):
            raise
        raise DamagedFileError(f"the description of the tensors is cut short or damaged ({error})") from error


def _refuse(what: str) -> DamagedFileError:
    return DamagedFileError(f"expected nothing but tensors, the file asks for {what}; refused, do not trust this file")


def _are_counts(values: Any) -> bool:
    return isinstance(values, tuple) and all(type(value) is int and value >= 0 for value in values)


def _make_storage(identity: Any) -> Storage:
    """Check torch's persistent id: ('storage', type, key, place, count[, view])."""
    if not isinstance(identity, tuple) or len(identity) not in (5, 6) or identity[0] != "storage":
        raise _refuse("a persistent object that is no storage")
    _, kind, key, _, count = identity[:5]
    if not isinstance(kind, Global) or kind.name not in STORAGE_TYPES:
        raise _refuse(f"a storage of type {getattr(kind, 'name', type(kind).__name__)}")
    if not isinstance(key, str) or not _are_counts((count,)) or identity[5:] not in ((), (None,)):
        raise DamagedFileError("expected a storage with a key and a count; the file is damaged")
    return Storage(key, STORAGE_TYPES[kind.name], count)


def _make_tensor(arguments: tuple[Any, ...]) -> Tensor:
    storage, offset, shape, strides = arguments[:4]
    if not isinstance(storage, Storage) or not all(map(_are_counts, ((offset,), shape, strides))):
        raise DamagedFileError("expected a tensor as storage, offset, shape and strides; the file is damaged")
    if len(shape) != len(strides) or len(shape) > MAX_SIDES:
        raise DamagedFileError(
            f"expected as many strides as sides, at most {MAX_SIDES}; got {len(strides)}, {len(shape)}"
        )
    return Tensor(storage, offset, shape, strides)


def _make_dict(arguments: tuple[Any, ...]) -> dict[Any, Any]:
    if arguments:  # torch makes them empty and fills them afterwards
        raise _refuse("an ordered dictionary made from something else")
    return {}


FUNCTIONS: dict[str, Callable[[tuple[Any, ...]], Any]] = {ORDERED_DICT: _make_dict, REBUILD_TENSOR: _make_tensor}


class _Machine:
    """The stack, the marks and the memo of one pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def step(self, opcode: str, argument: Any) -> None:
        if opcode in _PUSHES:
            self.stack.append(_PUSHES[opcode](argument))
        elif opcode in _ACTIONS:
            _ACTIONS[opcode](self, argument)
        elif opcode not in _IGNORED:
            raise _refuse(f"the pickle opcode {opcode}")

    def get_answer(self) -> Any:
        if len(self.stack) != 1 or self.marks:
            raise DamagedFileError("the description of the tensors ends too early")
        return self.stack[0]

    def pop(self, count: int) -> tuple[Any, ...]:
        floor = self.marks[-1] if self.marks else 0
        if len(self.stack) - count < floor:
            raise DamagedFileError("the description of the tensors takes more than there is")
        values = tuple(self.stack[len(self.stack) - count :])
        del self.stack[len(self.stack) - count :]
        return values

    def pop_to_mark(self) -> tuple[Any, ...]:
        values = self.pop(len(self.stack) - self.marks[-1])
        self.marks.pop()
        return values

    def push_global(self, name: str) -> None:
        if name not in FUNCTIONS and name not in STORAGE_TYPES:
            raise _refuse(name)
        self.stack.append(Global(name))

    def push_stack_global(self) -> None:
        module, name = self.pop(2)
        self.push_global(f"{module}.{name}")

    def call(self) -> None:
        function, arguments = self.pop(2)
        if not isinstance(function, Global) or function.name not in FUNCTIONS or not isinstance(arguments, tuple):
            raise _refuse(f"a call of {getattr(function, 'name', type(function).__name__)}")
        self.stack.append(FUNCTIONS[function.name](arguments))

    def build(self) -> None:
        """Drop an object's attributes: torch hangs version numbers on its dictionaries, nothing else."""
        self.pop(1)
        if not isinstance(self.stack[-1], dict):
            raise _refuse("an object with attributes")

    def set_items(self, values: tuple[Any, ...]) -> None:
        if not isinstance(self.stack[-1], dict):
            raise _refuse("items of something that is no dictionary")
        if not all(type(key) in (str, int) for key in values[::2]):  # hashing nested tuples can take for ever
            raise _refuse("dictionary keys that are neither text nor numbers")
        self.stack[-1].update(zip(values[::2], values[1::2], strict=True))

    def extend(self, values: tuple[Any, ...]) -> None:
        if not isinstance(self.stack[-1], list):
            raise _refuse("elements of something that is no list")
        self.stack[-1].extend(values)


_PUSHES: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        ("BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE", "SHORT_BINUNICODE", "BINFLOAT"), lambda value: value
    ),
    "NONE": lambda _: None,
    "NEWTRUE": lambda _: True,
    "NEWFALSE": lambda _: False,
    "EMPTY_TUPLE": lambda _: (),
    "EMPTY_LIST": lambda _: [],
    "EMPTY_DICT": lambda _: {},
}
_ACTIONS: dict[str, Callable[[_Machine, Any], None]] = {
    "GLOBAL": lambda machine, argument: machine.push_global(argument.replace(" ", ".")),
    "STACK_GLOBAL": lambda machine, _: machine.push_stack_global(),
    "MARK": lambda machine, _: machine.marks.append(len(machine.stack)),
    "TUPLE": lambda machine, _: machine.stack.append(machine.pop_to_mark()),
    "TUPLE1": lambda machine, _: machine.stack.append(machine.pop(1)),
    "TUPLE2": lambda machine, _: machine.stack.append(machine.pop(2)),
    "TUPLE3": lambda machine, _: machine.stack.append(machine.pop(3)),
    "APPEND": lambda machine, _: machine.extend(machine.pop(1)),
    "APPENDS": lambda machine, _: machine.extend(machine.pop_to_mark()),
    "SETITEM": lambda machine, _: machine.set_items(machine.pop(2)),
    "SETITEMS": lambda machine, _: machine.set_items(machine.pop_to_mark()),
    "BINPUT": lambda machine, key: machine.memo.__setitem__(key, machine.stack[-1]),
    "LONG_BINPUT": lambda machine, key: machine.memo.__setitem__(key, machine.stack[-1]),
    "MEMOIZE": lambda machine, _: machine.memo.__setitem__(len(machine.memo), machine.stack[-1]),
    "BINGET": lambda machine, key: machine.stack.append(machine.memo[key]),
    "LONG_BINGET": lambda machine, key: machine.stack.append(machine.memo[key]),
    "BINPERSID": lambda machine, _: machine.stack.append(_make_storage(machine.pop(1)[0])),
    "REDUCE": lambda machine, _: machine.call(),
    "BUILD": lambda machine, _: machine.build(),
}
_IGNORED = {"PROTO", "FRAME", "STOP"}
