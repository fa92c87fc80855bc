"""Folders in stores: what is fetched and sent, in which order, and what strangers may not do."""

import contextlib
import shutil
from pathlib import Path

import pytest

from segvote.errors import BadInputError, BusyRunError, MissingPartError, UnwritableFileError
from segvote.io.remote.addresses import CACHE_VARIABLE, clean_url, find_local_path, is_uri, name_path_or_uri
from segvote.io.remote.local_copy import LocalCopy
from segvote.io.remote.store import Store

fsspec = pytest.importorskip("fsspec")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))


@pytest.fixture
def memory():
    """What lies below memory://, by path."""
    files = fsspec.filesystem("memory")
    files.store.clear()
    files.pseudo_dirs[:] = [""]
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


@pytest.fixture(params=["memory", "file"])
def url(request, memory, tmp_path):
    """Address of a folder that is not there yet."""
    return "memory://bucket/run" if request.param == "memory" else f"file://{tmp_path}/bucket/run"


def put(url, **contents):
    for name, content in contents.items():
        files, target = fsspec.core.url_to_fs(f"{url}/{name.replace('__', '/')}.txt")
        files.makedirs(target.rpartition("/")[0], exist_ok=True)
        files.pipe_file(target, content)


def read(url):
    files, root = fsspec.core.url_to_fs(url)
    return {path.removeprefix(f"{root}/"): files.cat_file(path) for path in files.find(root)}


class Counter(dict):
    """Progress that remembers how many files each step had."""

    def __call__(self, step, done, total):
        if done == total:
            self[step] = total


@contextlib.contextmanager
def opened(url, steps=None, **options):
    """A local copy: fetched, and sent at the end."""
    copy, steps = LocalCopy(url), Counter() if steps is None else steps
    with copy.lock():
        copy.fetch(steps, **options)
        yield copy
        copy.send(steps)


def fetch(url, **options):
    steps = Counter()
    with opened(url, steps, **options) as copy:
        return copy.path, steps


def write(url, **contents):
    """Open a run, write files to it, send it; the record is one of them."""
    steps = Counter()
    with opened(url, steps) as copy:
        copy.path.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            (copy.path / name.replace("_json", ".json")).write_bytes(content)
    return copy.path, steps


def test_addresses_are_told_from_paths():
    assert all(map(is_uri, ["s3://bucket/a", "memory://x", "file:///tmp/x", "GS://b/c"]))
    assert not any(map(is_uri, ["with", "/a/b", r"C:\pictures", "s3:/bucket", "a b://c", None, Path("with")]))


def test_one_folder_has_one_spelling():
    assert clean_url("S3://bucket/with/") == clean_url("s3://bucket/with") == "s3://bucket/with"


@pytest.mark.parametrize(
    "url", ["s3://", "s3:///", "s3://bucket/../other", "s3://bucket//a", "file:///tmp/\0", "file:///\ud800", "with"]
)
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(BadInputError, match="expected the address of a folder"):
        clean_url(url)


def test_a_password_is_not_taken_and_not_repeated():
    with pytest.raises(BadInputError, match="without a password") as caught:
        clean_url("sftp://me:secret@host/folder")
    assert "secret" not in str(caught.value)
    assert clean_url("sftp://me@host/folder")


def test_an_address_and_its_local_path_are_each_others_inverse(memory, tmp_path):
    put("memory://bucket/classes", cow__a=b"1")
    path, _ = fetch("memory://bucket/classes")
    assert find_local_path("memory://bucket/classes") == path
    assert find_local_path("memory://bucket/classes/cow") == path / "cow"
    assert name_path_or_uri(path / "cow") == "memory://bucket/classes/cow"
    assert name_path_or_uri(tmp_path / "with") == str(tmp_path / "with")
    assert find_local_path("with") == Path("with")


def test_an_unknown_protocol_is_one_line():
    with pytest.raises(BadInputError, match="got nothing://") as caught:
        Store("nothing://bucket/with")
    assert "\n" not in str(caught.value)


def test_a_missing_package_is_named(monkeypatch):
    def import_none(url):
        raise ImportError("Install gcsfs to access Google Storage")

    monkeypatch.setattr(fsspec.core, "url_to_fs", import_none)
    with pytest.raises(MissingPartError, match=r"gs:// needs gcsfs; install it: pip install gcsfs$"):
        Store("gs://bucket/with")


def test_a_store_that_does_not_answer_is_one_line(memory, monkeypatch):
    def fail(*arguments, **options):
        raise ZeroDivisionError("no route\nto host")  # packages of stores have errors of no common kind

    monkeypatch.setattr(type(memory), "find", fail)
    with pytest.raises(BadInputError, match=r"cannot read memory://bucket/with \(ZeroDivisionError: no route to host"):
        fetch("memory://bucket/with")


@pytest.mark.parametrize("name", ["../evil.txt", "a/../../evil.txt", "/evil.txt", "a//b.txt", "x" * 300, "nul\0.txt"])
def test_a_name_that_leads_out_is_refused_and_nothing_is_written(name, memory, monkeypatch, tmp_path):
    listed = {f"/bucket/with/{name}": {"type": "file", "size": 4, "created": "now"}}
    monkeypatch.setattr(type(memory), "find", lambda *arguments, **options: listed)
    with pytest.raises(BadInputError, match="cannot be a path below a folder"):
        fetch("memory://bucket/with")
    assert not list(tmp_path.rglob("*evil*"))


@pytest.mark.parametrize(
    ("names", "reason"), [(["without/a.txt"], "not below it"), (["with/a", "with/a/b"], "below what is a file")]
)
def test_a_listing_that_makes_no_folder_is_refused(names, reason, memory, monkeypatch):
    listed = {f"/bucket/{name}": {"type": "file", "size": 4, "created": "now"} for name in names}
    monkeypatch.setattr(type(memory), "find", lambda *arguments, **options: listed)
    with pytest.raises(BadInputError, match=reason):
        fetch("memory://bucket/with")


def test_each_file_is_fetched_once(url):
    put(url, a=b"1", deep__er__b=b"2", **{"[a]*?": b"3", ".git__config": b"hidden"})
    path, steps = fetch(url)
    assert steps == {"fetch": 3}
    assert (path / "deep/er/b.txt").read_bytes() == b"2"
    assert (path / "[a]*?.txt").read_bytes() == b"3"
    assert path.name == "run"
    assert fetch(url)[1] == {}


def test_what_changed_comes_again_and_what_is_gone_goes(url):
    put(url, **{"a": b"1", "b.txt__c": b"2", "same": b"3"})
    fetch(url)
    files, root = fsspec.core.url_to_fs(url)
    files.rm(f"{root}/b.txt", recursive=True)
    files.rm_file(f"{root}/a.txt")
    put(url, **{"b": b"3", "a.txt__c": b"4"})
    path, steps = fetch(url)
    assert steps == {"fetch": 2}
    found = {one.relative_to(path).as_posix(): one.read_bytes() for one in path.rglob("*") if one.is_file()}
    assert found == {"b.txt": b"3", "a.txt/c.txt": b"4", "same.txt": b"3"}


def test_a_cache_that_cannot_be_written_is_told(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(UnwritableFileError, match=f"set {CACHE_VARIABLE} to one"):
        fetch("memory://bucket/with")


def test_an_address_may_be_that_of_a_file(url):
    put(url, a=b"1")
    path, _ = fetch(f"{url}/a.txt")
    assert path.read_bytes() == b"1"
    assert fetch(f"{url}/a.txt")[1] == {}


def test_a_file_that_comes_in_part_is_not_taken_for_whole(memory, monkeypatch):
    put("memory://bucket/with", a=b"12345")
    with monkeypatch.context() as patch:
        patch.setattr(type(memory), "get_file", lambda self, path, target, **_: Path(target).write_bytes(b"12"))
        with pytest.raises(BadInputError, match="did not arrive whole"):
            fetch("memory://bucket/with")
    path, _ = fetch("memory://bucket/with")
    assert (path / "a.txt").read_bytes() == b"12345"


def test_a_damaged_list_costs_a_second_fetch_and_nothing_else(url):
    put(url, a=b"1")
    path, _ = fetch(url)
    (path.parents[1] / "files.json").write_text("{")
    assert fetch(url)[1] == {"fetch": 1}


def test_what_is_written_goes_to_the_store_once(url):
    _, steps = write(url, run_json=b"{}", mask=b"1", votes=b"2")
    assert steps == {"send": 3}
    assert read(url) == {"run.json": b"{}", "mask": b"1", "votes": b"2"}
    assert write(url)[1] == {}
    assert write(url, mask=b"new")[1] == {"send": 2}  # the record goes again, last
    assert read(url)["mask"] == b"new"


def test_another_machine_gets_what_was_sent(url, tmp_path, monkeypatch):
    here, _ = write(url, run_json=b"{}", mask=b"1")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))
    there, steps = fetch(url)
    assert steps == {"fetch": 2}
    assert there != here
    assert (there / "mask").read_bytes() == b"1"


def test_a_file_of_a_mounted_disk_is_never_seen_in_part(tmp_path, monkeypatch):
    source, target = tmp_path / "source.txt", tmp_path / "disk" / "name.txt"
    store, seen = Store(f"file://{tmp_path}/disk"), []
    copy = shutil.copyfile

    def look_on(source, temporary):
        Path(temporary).write_bytes(b"ha")  # as a kill would leave it
        seen.append(target.read_bytes() if target.exists() else None)
        return copy(source, temporary)

    monkeypatch.setattr(shutil, "copyfile", look_on)
    for content in (b"first", b"second"):
        source.write_bytes(content)
        store.put({"name.txt": source})
        assert target.read_bytes() == content
    assert seen == [None, b"first"]


def test_what_was_deleted_here_is_deleted_there(url):
    write(url, run_json=b"{}", mask=b"1", stale=b"2")
    with opened(url) as copy:
        (copy.path / "stale").unlink()
    assert sorted(read(url)) == ["mask", "run.json"]
    assert write(url)[1] == {}


def test_a_copy_that_somebody_deleted_is_fetched_and_the_store_keeps_all(url):
    path, _ = write(url, run_json=b"{}", mask=b"1")
    shutil.rmtree(path)
    assert fetch(url)[1] == {"fetch": 2}
    assert sorted(read(url)) == ["mask", "run.json"]


def test_a_run_that_was_sent_in_part_has_no_record_and_the_next_call_sends_the_rest(url, monkeypatch):
    write(url, run_json=b"{}", mask=b"old")
    send, notes = Store.put, []

    def stop(self, sources):
        send(self, sources)
        notes.append(LocalCopy(url).holder.joinpath("files.json").read_bytes())
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Store, "put", stop)
        write(url, mask=b"new", votes=b"2")
    assert sorted(read(url)) == ["mask", "votes"]
    LocalCopy(url).holder.joinpath("files.json").write_bytes(notes[0])  # as kill -9 would leave it
    assert write(url)[1]["send"] == 3
    assert read(url) == {"run.json": b"{}", "mask": b"new", "votes": b"2"}


@pytest.mark.parametrize("n_done", range(5))
def test_a_send_that_was_killed_at_any_step_is_done_again(url, monkeypatch, n_done):
    write(url, run_json=b"{}", mask=b"old", gone=b"1")
    note, left = LocalCopy(url).holder / "files.json", n_done
    before = note.read_bytes()

    def kill(step):
        def run(*given):
            nonlocal left
            if not left:
                raise KeyboardInterrupt
            left -= 1
            return step(*given)

        return run

    # Removed there: the record and what is gone; put: the others, then the record; listed to be noted.
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt), opened(url) as copy:
        (copy.path / "gone").unlink()
        (copy.path / "mask").write_bytes(b"new")
        (copy.path / "run.json").write_bytes(b'{"new": 1}')
        for name in ("remove", "put"):
            patch.setattr(Store, name, kill(getattr(Store, name)))
        patch.setattr(LocalCopy, "_note", kill(LocalCopy._note))
    note.write_bytes(before)  # as kill -9 would leave it
    write(url)
    assert read(url) == {"run.json": b'{"new": 1}', "mask": b"new"}


def test_work_that_was_not_sent_stays(url):
    write(url, run_json=b"{}", mask=b"1")
    with pytest.raises(KeyboardInterrupt), opened(url) as copy:
        (copy.path / "mask").write_bytes(b"2")
        raise KeyboardInterrupt
    path, _ = write(url)
    assert (path / "mask").read_bytes() == read(url)["mask"] == b"2"


@pytest.mark.parametrize("stopped", [False, True])
def test_two_machines_do_not_write_over_each_other(url, tmp_path, monkeypatch, stopped):
    with pytest.raises(KeyboardInterrupt if stopped else BusyRunError), opened(url) as copy:
        copy.path.mkdir(parents=True)
        for name in ("run.json", "mask"):
            (copy.path / name).write_bytes(b"here")
        with monkeypatch.context() as patch:
            patch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))
            write(url, run_json=b"there", mask=b"there")
        if stopped:
            raise KeyboardInterrupt
    with pytest.raises(BusyRunError, match="another segvote wrote to"):
        fetch(url)
    assert read(url) == {"run.json": b"there", "mask": b"there"}
    assert (copy.path / "mask").read_bytes() == b"here"


def test_two_processes_of_one_machine_keep_apart(url):
    with LocalCopy(url).lock(), pytest.raises(BusyRunError):
        fetch(url)


def test_folders_that_are_not_wanted_stay_away_and_come_when_they_are(url):
    put(url, mask=b"1", features__a=b"2")
    assert fetch(url, leave_out=("features/",))[1] == {"fetch": 1}
    assert fetch(url)[1] == {"fetch": 1}
    assert sorted(read(url)) == ["features/a.txt", "mask.txt"]
