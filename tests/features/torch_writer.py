"""Torch files written by hand, because torch is not installed."""

import io
import pickle
import struct

from segvote.features.networks.torch_file import MAGIC, PROTOCOL

STORAGE_NAMES = {"float32": "FloatStorage", "int64": "LongStorage", "float16": "HalfStorage"}


class Named:
    """An object that pickles as a global name, whatever lies behind the name here."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Call:
    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments


class Persistent:
    def __init__(self, identity):
        self.identity = identity


class Writer(pickle._Pickler):
    """A pickler that can write names of modules which are not installed."""

    def persistent_id(self, target):
        return target.identity if isinstance(target, Persistent) else None

    def save(self, target, save_persistent_id=True):
        if isinstance(target, Named):
            self.write(pickle.GLOBAL + f"{target.module}\n{target.name}\n".encode())
        elif isinstance(target, Call):
            self.save(target.function)
            self.save(target.arguments)
            self.write(pickle.REDUCE)
        else:
            super().save(target, save_persistent_id)


def dump(target):
    file = io.BytesIO()
    Writer(file, 2).dump(target)
    return file.getvalue()


def plan_tensor(array, key, shape=None, strides=None, offset=0, count=None):
    name = STORAGE_NAMES[str(array.dtype)]
    identity = ("storage", Named("torch", name), key, "cpu", array.size if count is None else count, None)
    shape = array.shape if shape is None else shape
    if strides is None:
        strides = tuple(stride // array.itemsize for stride in array.strides)
    hooks = Call(Named("collections", "OrderedDict"), ())
    return Call(Named("torch._utils", "_rebuild_tensor_v2"), (Persistent(identity), offset, shape, strides, 0, hooks))


def join(state, storages):
    """A file of a state dictionary, or of the bytes of its pickle, and of arrays by key."""
    header = [MAGIC, PROTOCOL, {"protocol_version": 1001, "little_endian": True, "type_sizes": {"int": 4}}]
    pickled = state if isinstance(state, bytes) else dump(state)
    data = b"".join(map(dump, header)) + pickled + dump(list(storages))
    return data + b"".join(struct.pack("<q", array.size) + array.tobytes("A") for array in storages.values())


def make_file(arrays):
    keys = {name: str(i) for i, name in enumerate(arrays)}
    state = {name: plan_tensor(array, keys[name]) for name, array in arrays.items()}
    return join(state, {keys[name]: array for name, array in arrays.items()})
