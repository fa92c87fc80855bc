"""Torch files written by hand, in both formats, because torch is not installed."""

import io
import pickle
import struct
import zipfile

from segvote.features.networks.torch_file import OLD_MAGIC, OLD_PROTOCOL

STORAGE_NAMES = {"float32": "FloatStorage", "int64": "LongStorage", "float16": "HalfStorage", "bool": "BoolStorage"}


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


def dump(target, protocol=2):
    file = io.BytesIO()
    Writer(file, protocol).dump(target)
    return file.getvalue()


def plan_tensor(array, key, type_name=None, zipped=False, shape=None, strides=None, offset=0, count=None):
    name = type_name or STORAGE_NAMES[str(array.dtype)]
    identity = ("storage", Named("torch", name), key, "cpu", array.size if count is None else count)
    shape = array.shape if shape is None else shape
    if strides is None:
        strides = tuple(stride // array.itemsize for stride in array.strides)
    arguments = (
        Persistent(identity if zipped else (*identity, None)),
        offset,
        shape,
        strides,
        False,
        Call(Named("collections", "OrderedDict"), ()),
    )
    return Call(Named("torch._utils", "_rebuild_tensor_v2"), arguments)


def join_old(state, storages):
    header = [OLD_MAGIC, OLD_PROTOCOL, {"protocol_version": 1001, "little_endian": True, "type_sizes": {"int": 4}}]
    data = b"".join(dump(part) for part in [*header, state, list(storages)])
    return data + b"".join(struct.pack("<q", array.size) + array.tobytes("A") for array in storages.values())


def join_zip(state, storages, protocol=2):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", dump(state, protocol))
        archive.writestr("archive/byteorder", "little")
        for key, array in storages.items():
            archive.writestr(f"archive/data/{key}", array.tobytes("A"))
        archive.writestr("archive/version", "3\n")
    return file.getvalue()


def make_file(arrays, zipped):
    keys = {name: str(i) for i, name in enumerate(arrays)}
    state = {name: plan_tensor(array, keys[name], zipped=zipped) for name, array in arrays.items()}
    storages = {keys[name]: array for name, array in arrays.items()}
    return join_zip(state, storages) if zipped else join_old(state, storages)
