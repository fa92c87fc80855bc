import tracemalloc

import numpy as np
import pytest
from torch_writer import join, make_file, plan_tensor

from segvote.errors import BadInputError, DamagedFileError, TooLargeError
from segvote.features.networks.torch_file import read_torch_file


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.pth"


def refuse(path, match=None):
    with pytest.raises(DamagedFileError, match=match):
        read_torch_file(path)


def test_arrays_come_back_as_they_were_written(path):
    rng = np.random.default_rng(0)
    arrays = {
        "conv.weight": rng.normal(size=(4, 3, 2, 2)).astype(np.float32),
        "transposed": np.asfortranarray(rng.normal(size=(5, 3)).astype(np.float32)),
        "half": rng.normal(size=7).astype(np.float16),
        "steps": np.array(12, np.int64),
        "empty": np.zeros((0, 3), np.float32),
    }
    path.write_bytes(make_file(arrays))
    found = read_torch_file(path)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_views_share_a_storage(path):
    whole = np.arange(48, dtype=np.float32)
    tail = plan_tensor(whole, "0", shape=(2, 3), strides=(3, 1), offset=42)
    path.write_bytes(join({"whole": plan_tensor(whole, "0"), "tail": tail, "epoch": 3}, {"0": whole}))
    found = read_torch_file(path)
    assert list(found) == ["whole", "tail"]
    np.testing.assert_array_equal(found["tail"], whole[-6:].reshape(2, 3))


# Hashed, read or remembered by a plain `pickle.Unpickler`, some of these would take for ever or gigabytes.
DOUBLED = b"".join(b"q%ch%c\x86" % (number, number) for number in range(60))
TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n"
CROOKED = {
    "INST": b"ios\nsystem\n",
    "INST with an argument": b"(S'true'\nios\nsystem\n",
    "EXT1": b"\x82\x01",
    "NEWOBJ": TENSOR + b")\x81",
    "a storage type that is called": b"ctorch\nFloatStorage\n)R",
    "a dictionary that is called with items": b"ccollections\nOrderedDict\n}\x85R",
    "another function of torch": b"ctorch.serialization\nload\n",
    "a method": b"ccollections\nOrderedDict.__init__\n",
    "a tuple as a key": b"}(tK\x01s",
    "a key whose hash takes 2^60 steps": b"}X\x01\0\0\0x" + DOUBLED + b"K\x01s",
    "an empty memo": b"h\x05",
    "a memo of two billion places": b"]r\xff\xff\xff\x7f",
    "a text of four gigabytes": b"X\xff\xff\xff\xffx",
    "a number of two gigabytes": b"\x8b\xff\xff\xff\x7f1",
    "a byte array of many gigabytes": b"\x96\0\0\0\0\xff\0\0\0",
    "many lists": b"]" * 300_000,
    "no dictionary": b"]",
    "a storage whose key takes 2^60 steps": b"}.\x80\x02]X\x01\0\0\0x" + DOUBLED + b"a",
}


@pytest.mark.parametrize("kind", CROOKED)
def test_crooked_pickles_are_refused(kind, path):
    path.write_bytes(join(b"\x80\x02" + CROOKED[kind] + b".", {}))
    tracemalloc.start()
    refuse(path, r"weights\.pth")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 32 << 20


def test_a_pickle_cannot_change_the_functions_that_it_calls(path):
    defaults = b"N}X\x0c\x00\x00\x00__defaults__K\x01s\x86b"
    path.write_bytes(join(b"\x80\x02" + TENSOR + defaults + b"0}.", {}))
    refuse(path)
    values = np.arange(4, dtype=np.float32)
    path.write_bytes(make_file({"a": values}))
    np.testing.assert_array_equal(read_torch_file(path)["a"], values)


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": (1000, 1000), "strides": (0, 0)},  # a small storage blown up
        {"shape": (5,), "strides": (1,)},  # one number too many
        {"offset": 4},
        {"shape": (2,), "strides": (10**12,)},
        {"shape": (2, 2), "strides": (1,)},
        {"shape": (-1,), "strides": (1,)},
        {"count": 10**15},
        {"count": 3},
    ],
)
def test_tensors_stay_inside_their_storage(changes, path):
    bias = np.arange(4, dtype=np.float32)
    path.write_bytes(join({"a": plan_tensor(bias, "0", **changes)}, {"0": bias}))
    refuse(path)


def test_other_files_are_refused(path, monkeypatch):
    with pytest.raises(BadInputError, match=r"weights\.pth, found no file"):
        read_torch_file(path)
    path.write_bytes(b"PK\x03\x04")
    refuse(path, "safetensors")
    path.write_bytes(make_file({"a": np.zeros(1 << 19, np.float32)}))
    monkeypatch.setenv("SEGVOTE_READ_MB", "1")
    with pytest.raises(TooLargeError, match="SEGVOTE_READ_MB"):
        read_torch_file(path)
