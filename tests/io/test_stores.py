"""Folders in stores: fetched and sent files, refused addresses and names."""

import sys
from pathlib import Path

import pytest

from segvote.errors import BadInputError, BusyRunError, MissingPartError
from segvote.io.files import open_regular
from segvote.io.objects import Store, is_placeholder
from segvote.io.stores import (
    CACHE_VARIABLE,
    LocalCopy,
    fetch_folder,
    find_local_path,
    is_uri,
    name_path_or_uri,
    open_folders,
)

fsspec = pytest.importorskip("fsspec")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))


@pytest.fixture
def memory():
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


@pytest.fixture(params=["memory", "file"])
def uri(request, memory, tmp_path):
    """Address of a folder that is not there yet."""
    return "memory://bucket/run" if request.param == "memory" else f"file://{tmp_path}/bucket/run"


def put(uri, **contents):
    for name, content in contents.items():
        files, target = fsspec.core.url_to_fs(f"{uri}/{name.replace('__', '/')}.txt")
        files.makedirs(target.rpartition("/")[0], exist_ok=True)
        files.pipe_file(target, content)


def read(uri):
    files, root = fsspec.core.url_to_fs(uri)
    return {path.removeprefix(f"{root}/"): files.cat_file(path) for path in files.find(root)}


class Steps(dict):
    """Progress that remembers how many files each step had."""

    def __call__(self, step, done, total):
        self[step] = total


def fetch(uri):
    steps = Steps()
    return fetch_folder(uri, steps), steps


def write(uri, **contents):
    steps = Steps()
    with open_folders(outs=[uri], progress=steps) as (_, (folder,)):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            (folder / name.replace("_json", ".json")).write_bytes(content)
    return folder, steps


def test_addresses_are_told_from_paths():
    assert all(map(is_uri, ["s3://bucket/a", "memory://x", "file:///tmp/x", "GS://b/c"]))
    assert not any(map(is_uri, ["with", "/a/b", r"C:\pictures", "s3:/bucket", None, Path("with")]))


@pytest.mark.parametrize(
    "uri", ["s3://", "s3:///", "s3://bucket/../other", "s3://bucket//a", "file:///tmp/\0", "file:///\ud800", "a b://c"]
)
def test_a_malformed_address_is_refused(uri):
    with pytest.raises(BadInputError, match="expected protocol://bucket/folder"):
        find_local_path(uri)


def test_a_password_is_refused_and_not_repeated():
    with pytest.raises(BadInputError, match="without a password") as caught:
        find_local_path("sftp://me:secret@host/folder")
    assert "secret" not in str(caught.value)
    assert find_local_path("sftp://me@host/folder")


def test_a_local_path_names_its_address(memory, tmp_path):
    put("memory://bucket/classes", cow__a=b"1")
    path, _ = fetch("memory://bucket/classes")
    assert find_local_path("memory://bucket/classes") == path
    assert find_local_path("memory://bucket/classes/cow") == path / "cow"
    assert name_path_or_uri(path / "cow") == "memory://bucket/classes/cow"
    assert name_path_or_uri(tmp_path / "with") == str(tmp_path / "with")
    assert find_local_path("with") == Path("with")


@pytest.mark.parametrize("error", [ImportError("Install gcsfs to access Google Storage"), ValueError("unknown")])
def test_a_store_without_a_package_is_one_line(monkeypatch, error):
    def fail(uri):
        raise error

    monkeypatch.setattr("fsspec.core.url_to_fs", fail)
    with pytest.raises(MissingPartError, match=rf"cannot open gs://bucket/with \({error}\)"):
        fetch("gs://bucket/with")


def test_a_store_that_does_not_answer_is_one_line(memory, monkeypatch):
    def fail(*arguments, **options):
        raise ZeroDivisionError("no route\nto host")  # packages of stores have errors of no common kind

    monkeypatch.setattr(type(memory), "find", fail)
    with pytest.raises(BadInputError, match=r"cannot read memory://bucket/with \(ZeroDivisionError: no route to host"):
        fetch("memory://bucket/with")


@pytest.mark.parametrize("name", ["../evil.txt", "a/../../evil.txt", "/evil.txt", "a//b.txt", "nul\0.txt"])
def test_a_name_that_leads_out_is_refused(name, memory, monkeypatch, tmp_path):
    listed = {f"/bucket/with/{name}": {"type": "file", "size": 4, "created": 1.0}}
    monkeypatch.setattr(type(memory), "find", lambda *arguments, **options: listed)
    with pytest.raises(BadInputError, match=r"no folder can hold|below its folder"):
        fetch("memory://bucket/with")
    assert not list(tmp_path.rglob("*evil*"))


def test_each_file_is_fetched_once(uri):
    put(uri, a=b"1", deep__er__b=b"2", **{"[a]*?": b"3", ".git__config": b"hidden"})
    path, steps = fetch(uri)
    assert steps == {"get": 3}
    assert (path / "deep/er/b.txt").read_bytes() == b"2"
    assert (path / "[a]*?.txt").read_bytes() == b"3"
    assert path.name == "run"
    assert fetch(uri)[1] == {}


def test_a_copy_follows_its_store(uri):
    put(uri, a=b"1", deep__b=b"2", same=b"3")
    fetch(uri)
    files, root = fsspec.core.url_to_fs(uri)
    files.rm_file(f"{root}/deep/b.txt")
    put(uri, a=b"new")
    path, steps = fetch(uri)
    assert steps == {"get": 1}
    found = {one.relative_to(path).as_posix(): one.read_bytes() for one in path.rglob("*") if one.is_file()}
    assert found == {"a.txt": b"new", "same.txt": b"3"}


def test_an_address_may_be_that_of_a_file(uri):
    put(uri, a=b"1")
    assert fetch(f"{uri}/a.txt")[0].read_bytes() == b"1"
    assert fetch(f"{uri}/a.txt")[1] == {}
    with pytest.raises(BadInputError, match=f"found nothing at {uri}/none"):
        fetch(f"{uri}/none")


def test_changes_are_sent_once(uri):
    assert write(uri, run_json=b"{}", mask=b"1", votes=b"2")[1] == {"put": 1}  # the last step is that of the record
    assert read(uri) == {"run.json": b"{}", "mask": b"1", "votes": b"2"}
    assert write(uri)[1] == {}
    assert write(uri, mask=b"33")[1] == {"put": 1}
    assert read(uri)["mask"] == b"33"


def test_a_file_deleted_here_is_deleted_there(uri):
    write(uri, run_json=b"{}", mask=b"1", stale=b"2")
    with open_folders(outs=[uri]) as (_, (folder,)):
        (folder / "stale").unlink()
    assert sorted(read(uri)) == ["mask", "run.json"]


def test_work_that_was_not_sent_stays(uri):
    write(uri, run_json=b"{}", mask=b"1")
    with pytest.raises(KeyboardInterrupt), open_folders(outs=[uri]) as (_, (folder,)):
        (folder / "mask").write_bytes(b"22")
        raise KeyboardInterrupt
    assert read(uri)["mask"] == b"1"
    write(uri)
    assert (folder / "mask").read_bytes() == read(uri)["mask"] == b"22"


def test_unsent_work_is_dropped_once_the_store_has_newer(uri):
    write(uri, run_json=b"{}", mask=b"1")
    with pytest.raises(KeyboardInterrupt), open_folders(outs=[uri]) as (_, (folder,)):
        (folder / "mask").write_bytes(b"22")
        raise KeyboardInterrupt
    put(uri, other=b"3")
    Store(uri).write("run.json", b"{'by': 'another'}")
    (folder / "review.sqlite").write_bytes(b"corrections")
    with pytest.raises(BadInputError, match="corrections that were not sent"):
        fetch(uri)
    (folder / "review.sqlite").unlink()
    assert (fetch(uri)[0] / "mask").read_bytes() == b"1"


def read_regular(path):
    with open_regular(path) as file:
        return file.read()


def test_a_sparse_copy_fetches_what_is_read(uri):
    put(uri, a=b"1", deep__b=b"22", empty=b"")
    copy = LocalCopy(uri)
    copy.fetch(is_left=lambda name: True)
    assert sum(path.stat().st_size for path in copy.path.rglob("*.txt")) == 0
    assert read_regular(copy.path / "deep/b.txt") == b"22" and not read_regular(copy.path / "empty.txt")
    assert is_placeholder(copy.path / "a.txt") and not is_placeholder(copy.path / "deep/b.txt")
    copy.send()
    assert read(uri) == {"a.txt": b"1", "deep/b.txt": b"22", "empty.txt": b""}
    (copy.path / "a.txt").unlink()
    copy.send()
    assert sorted(read(uri)) == ["deep/b.txt", "empty.txt"]
    put(uri, a=b"3")
    assert fetch(uri)[1] == {"get": 1}


def test_two_processes_of_one_machine_keep_apart(uri):
    with open_folders(outs=[uri]), pytest.raises(BusyRunError):
        fetch(uri)


def test_paths_pass_and_import_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    given = ["with", Path("without"), None]
    with open_folders(given, ["out"]) as (inputs, outs):
        assert (inputs, outs) == (given, ["out"])
