import tracemalloc
import zipfile

import numpy as np
import pytest
from torch_writer import dump, join_old, join_zip, make_file, plan_tensor

from segvote.errors import BadInputError, DamagedFileError, TooLargeError
from segvote.features.networks.torch_file import read_torch_file


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return {
        "conv.weight": rng.normal(size=(4, 3, 2, 2)).astype(np.float32),
        "conv.bias": rng.normal(size=4).astype(np.float32),
        "transposed": np.asfortranarray(rng.normal(size=(5, 3)).astype(np.float32)),
        "half": rng.normal(size=7).astype(np.float16),
        "steps": np.array(12, np.int64),
        "flags": np.array([True, False]),
        "empty": np.zeros((0, 3), np.float32),
    }


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.pth"


def write_archive(path, pickled, kind=zipfile.ZIP_DEFLATED, **members):
    with zipfile.ZipFile(path, "w", kind) as archive:
        archive.writestr("archive/data.pkl", pickled)
        for name, data in members.items():
            archive.writestr(f"archive/data/{name.removeprefix('_')}", data)


def refuse(path, match=None):
    with pytest.raises(DamagedFileError, match=match):
        read_torch_file(path)


@pytest.mark.parametrize("zipped", [False, True])
def test_arrays_come_back_as_they_were_written(arrays, zipped, path):
    path.write_bytes(make_file(arrays, zipped))
    found = read_torch_file(path)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_protocol_four_is_read(arrays, path):
    weight = arrays["conv.weight"]
    path.write_bytes(join_zip({"a": plan_tensor(weight, "0", zipped=True)}, {"0": weight}, protocol=4))
    np.testing.assert_array_equal(read_torch_file(path)["a"], weight)


def test_views_share_a_storage(arrays, path):
    whole = arrays["conv.weight"].ravel()
    state = {
        "whole": plan_tensor(whole, "0"),
        "tail": plan_tensor(whole, "0", shape=(2, 3), strides=(3, 1), offset=whole.size - 6),
    }
    path.write_bytes(join_old(state, {"0": whole}))
    np.testing.assert_array_equal(read_torch_file(path)["tail"], whole[-6:].reshape(2, 3))


def test_bfloat16_is_widened(path):
    values = np.array([1.0, -2.5, 0.15625], np.float32)  # exact in bfloat16
    upper = (values.view(np.uint32) >> 16).astype("<u2")
    path.write_bytes(join_old({"a": plan_tensor(upper, "0", "BFloat16Storage")}, {"0": upper}))
    np.testing.assert_array_equal(read_torch_file(path)["a"], values)


def test_dictionaries_inside_are_flattened_and_numbers_left_out(arrays, path):
    bias = arrays["conv.bias"]
    path.write_bytes(join_old({"epoch": 3, "model": {"bias": plan_tensor(bias, "0")}}, {"0": bias}))
    assert list(read_torch_file(path)) == ["model.bias"]


@pytest.mark.parametrize(
    "code",
    [
        b"\x80\x02ios\nsystem\n.",  # INST
        b"\x80\x02(S'true'\nios\nsystem\n.",
        b"\x80\x02\x82\x01.",  # EXT1
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)\x81.",  # NEWOBJ
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}b.",  # BUILD on a function
        b"\x80\x02ctorch\nFloatStorage\n)R.",  # calls a storage type
        b"\x80\x02ctorch.serialization\nload\n.",
        b"\x80\x02ccollections\nOrderedDict.__init__\n.",
        b"\x80\x02}(tK\x01s.",  # a tuple as a key
        b"\x80\x02h\x05.",  # an empty memo
        b"\x80\x020.",  # POP
    ],
)
def test_crooked_opcodes_are_refused(code, path):
    write_archive(path, code)
    refuse(path)


@pytest.mark.parametrize("code", [b"}b", b"}X\x01\x00\x00\x00aK\x01sb", b"N}X\x01\x00\x00\x00aK\x01s\x86b"])
@pytest.mark.parametrize("name", [b"collections\nOrderedDict", b"torch\nFloatStorage"])
def test_a_pickle_cannot_change_what_its_names_stand_for(name, code, path):
    write_archive(path, b"\x80\x02c" + name + b"\n" + code + b".")
    refuse(path, "cut short or damaged")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BadInputError, match=r"nothing\.pth"):
        read_torch_file(tmp_path / "nothing.pth")


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
@pytest.mark.parametrize("zipped", [False, True])
def test_tensors_stay_inside_their_storage(changes, zipped, path):
    bias = np.arange(4, dtype=np.float32)
    state = {"a": plan_tensor(bias, "0", zipped=zipped, **changes)}
    path.write_bytes((join_zip if zipped else join_old)(state, {"0": bias}))
    refuse(path)


def test_many_views_of_one_storage_are_refused(path):
    values = np.zeros(1000, np.float32)
    state = {f"a{i}": plan_tensor(values, "0") for i in range(5)}
    path.write_bytes(join_old(state, {"0": values}))
    refuse(path, "5000")


def test_nesting_without_end_is_refused(path):
    write_archive(path, b"\x80\x02" + b"}U\x01a" * 5000 + b"}" + b"s" * 5000 + b".")
    refuse(path)
    write_archive(path, b"\x80\x02" + b"}X\x01\0\0\0a" * 5000 + b"}" + b"s" * 5000 + b".")
    refuse(path, r"recursion|letters")


def plan_bombs():
    """Files of a few hundred to a few thousand bytes that would take gigabytes."""
    values = np.zeros(1 << 20, np.float32)
    tensor = plan_tensor(values[:4], "0", zipped=True)
    long = {"a" * 1_000_000: {"b" * 1_000_000: {"c" * 1_000_000: tensor}}}
    doubled = "x"
    for _ in range(24):
        doubled = (doubled, doubled)
    return {
        "names as long as books": (dump(long), {"_0": values[:4].tobytes()}),
        "a name that doubles": (dump({doubled: tensor}), {"_0": values[:4].tobytes()}),
        "much air": (dump({"a": plan_tensor(values, "0", zipped=True)}), {"_0": values.tobytes()}),
        "views without steps": (
            dump({f"{i}": plan_tensor(values, "0", zipped=True, strides=(0,)) for i in range(3)}),
            {"_0": values.tobytes()},
        ),
    }


@pytest.mark.parametrize("bomb", plan_bombs())
def test_small_files_that_would_take_much_are_refused(bomb, path, monkeypatch):
    monkeypatch.setenv("SEGVOTE_READ_MB", "4")
    pickled, members = plan_bombs()[bomb]
    write_archive(path, pickled, **members)
    assert path.stat().st_size < 20_000
    tracemalloc.start()
    with pytest.raises((DamagedFileError, TooLargeError), match=r"weights\.pth"):
        read_torch_file(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 32 << 20


# Programs of a pickle that a plain `pickle.Unpickler`, whatever classes it admits, would work at for ever, or drown in.
DOUBLED = b"".join(b"q%ch%c\x86" % (number, number) for number in range(60))
ENDLESS = {
    "a tuple twice": b"\x80\x02}X\x01\0\0\0x" + DOUBLED + b"K\x01s.",  # a key whose hash takes 2^60 steps
    "steps": b"\x80\x02}r\xff\xff\xff\x7f.",  # a memo of two billion places
    "cut short": b"\x80\x02X\xff\xff\xff\xffx.",  # a text of four gigabytes
    "damaged": b"\x80\x02\x8b\xff\xff\xff\x7f1.",  # a number of two gigabytes
}


@pytest.mark.parametrize("kind", ENDLESS)  # by what the refusal says
def test_pickles_that_would_work_for_ever_or_drown_do_not(kind, path):
    write_archive(path, ENDLESS[kind])
    tracemalloc.start()
    refuse(path, kind)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 32 << 20


def test_a_larger_budget_lets_larger_files_in(path, monkeypatch):
    values = np.zeros(1 << 20, np.float32)
    write_archive(path, dump({"a": plan_tensor(values, "0", zipped=True)}), _0=values.tobytes())
    monkeypatch.setenv("SEGVOTE_READ_MB", "7")
    with pytest.raises(TooLargeError, match="SEGVOTE_READ_MB"):
        read_torch_file(path)
    monkeypatch.setenv("SEGVOTE_READ_MB", "8")
    np.testing.assert_array_equal(read_torch_file(path)["a"], values)
    monkeypatch.setenv("SEGVOTE_READ_MB", "much")
    with pytest.raises(BadInputError, match="megabytes"):
        read_torch_file(path)
