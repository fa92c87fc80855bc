"""Folders in stores: what is fetched and sent, in which order, and what strangers may not do."""

import json
import os
import shutil
from pathlib import Path

import pytest

from segvote.errors import BadInputError, BusyRunError, MissingPartError, UnwritableFileError
from segvote.io.remote.addresses import CACHE_VARIABLE, clean_url, find_cache, find_local_path, is_uri, name_path_or_uri
from segvote.io.remote.mirrors import Mirror
from segvote.io.remote.stores import Store
from segvote.run.run_folder import RunFolder

fsspec = pytest.importorskip("fsspec")

# All that a record has to say.
RECORD = {"segvote": "", "versions": {}, "inputs": {}, "settings": {}, "key": "", "bags": [], "problems": []}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


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
        path = f"{url}/{name.replace('__', '/')}.txt"
        files, target = fsspec.core.url_to_fs(path)
        files.makedirs(target.rpartition("/")[0], exist_ok=True)
        files.pipe_file(target, content)


class Counter:
    """Progress that remembers how many files each step had."""

    def __init__(self):
        self.totals = []

    def __call__(self, step, done, total):
        if done == total:
            self.totals.append((step, total))


def fetch(url, **options):
    mirror, seen = Mirror(url), Counter()
    with mirror.lock():
        mirror.fetch(seen, **options)
    return mirror, seen.totals


def send(mirror):
    seen = Counter()
    mirror.send(seen)
    return seen.totals


def write_run(folder, complete=True, **contents):
    """A run folder with a record and some files."""
    run = RunFolder(folder)
    run.path.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (run.path / name).write_bytes(content)
    run.write_record({**RECORD, "complete": complete})


def read_record(url):
    with fsspec.open(f"{url}/run.json") as file:
        return json.load(file)


def test_addresses_are_told_from_paths():
    assert all(map(is_uri, ["s3://bucket/a", "memory://x", "file:///tmp/x", "GS://b/c"]))
    assert not any(map(is_uri, ["with", "/a/b", r"C:\pictures", "s3:/bucket", "a b://c", None, find_cache()]))


def test_one_folder_has_one_spelling():
    assert clean_url("S3://bucket/with/") == clean_url("s3://bucket/with") == "s3://bucket/with"


@pytest.mark.parametrize("url", ["s3://", "s3:///", "s3://bucket/../other", "s3://bucket//a", "file:///tmp/\0", "with"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(BadInputError, match="expected the address of a folder"):
        clean_url(url)


def test_a_password_is_not_taken_and_not_repeated():
    with pytest.raises(BadInputError, match="without a password") as caught:
        clean_url("sftp://me:secret@host/folder")
    assert "secret" not in str(caught.value)
    assert clean_url("sftp://me@host/folder")


def test_a_place_and_its_name_are_each_others_inverse(memory, tmp_path):
    put("memory://bucket/classes", cow__a=b"1")
    mirror, _ = fetch("memory://bucket/classes")
    assert find_local_path("memory://bucket/classes") == mirror.path
    assert find_local_path("memory://bucket/classes/cow") == mirror.path / "cow"
    assert name_path_or_uri(mirror.path / "cow") == "memory://bucket/classes/cow"
    assert name_path_or_uri(tmp_path / "with") == str(tmp_path / "with")
    assert find_local_path("with") == find_local_path(os.fspath("with"))


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
    class StrangeError(Exception):
        """As packages of stores have them: of no common kind, of several lines."""

    def fail(*arguments, **options):
        raise StrangeError("no route\nto host")

    monkeypatch.setattr(type(memory), "find", fail)
    with pytest.raises(BadInputError, match=r"cannot read memory://bucket/with \(StrangeError: no route to host\)"):
        fetch("memory://bucket/with")


@pytest.mark.parametrize("name", ["../evil.txt", "a/../../evil.txt", "/evil.txt", "a//b.txt", "x" * 300, "nul\0.txt"])
def test_a_name_that_leads_out_is_refused_and_nothing_is_written(name, memory, monkeypatch, tmp_path):
    listed = {f"/bucket/with/{name}": {"type": "file", "size": 4, "created": "now"}}
    monkeypatch.setattr(type(memory), "find", lambda *arguments, **options: listed)
    with pytest.raises(BadInputError, match="cannot be a path below a folder"):
        fetch("memory://bucket/with")
    assert not list(tmp_path.rglob("*evil*"))


def test_a_name_outside_of_the_folder_is_refused(memory, monkeypatch):
    listed = {"/bucket/without/a.txt": {"type": "file", "size": 4, "created": "now"}}
    monkeypatch.setattr(type(memory), "find", lambda *arguments, **options: listed)
    with pytest.raises(BadInputError, match="not below it"):
        fetch("memory://bucket/with")


def test_what_is_file_and_folder_at_once_is_refused(memory, monkeypatch):
    listed = {f"/bucket/with/{name}": {"type": "file", "size": 1, "created": "now"} for name in ("a", "a/b")}
    monkeypatch.setattr(type(memory), "find", lambda *arguments, **options: listed)
    with pytest.raises(BadInputError, match="both as a file and as a folder"):
        fetch("memory://bucket/with")


def test_a_folder_larger_than_the_disk_is_refused_before_it_is_fetched(memory, monkeypatch):
    put("memory://bucket/with", a=b"12345")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 8, 2))
    with pytest.raises(BadInputError, match=f"set {CACHE_VARIABLE}"):
        fetch("memory://bucket/with")


def test_each_file_is_fetched_once(url):
    put(url, a=b"1", deep__er__b=b"2")
    mirror, totals = fetch(url)
    assert totals == [("fetch", 2)]
    assert (mirror.path / "deep/er/b.txt").read_bytes() == b"2"
    assert mirror.path.name == "run"
    assert fetch(url)[1] == []


def test_what_changed_comes_again_and_what_is_gone_goes(url):
    put(url, a=b"1", b=b"2", c=b"3")
    mirror, _ = fetch(url)
    put(url, b=b"22")
    files, root = fsspec.core.url_to_fs(url)
    files.rm_file(f"{root}/c.txt")
    (mirror.path / "a.txt").write_bytes(b"touched here")
    mirror, totals = fetch(url)
    assert totals == [("fetch", 2)]
    assert {path.name: path.read_bytes() for path in mirror.path.iterdir()} == {"a.txt": b"1", "b.txt": b"22"}


def test_a_file_that_became_a_folder_and_back(url):
    put(url, **{"a": b"1", "b.txt__c": b"2"})
    fetch(url)
    files, root = fsspec.core.url_to_fs(url)
    files.rm(f"{root}/b.txt", recursive=True)
    files.rm_file(f"{root}/a.txt")
    put(url, **{"b": b"3", "a.txt__c": b"4"})
    mirror, _ = fetch(url)
    assert (mirror.path / "b.txt").read_bytes() == b"3"
    assert (mirror.path / "a.txt/c.txt").read_bytes() == b"4"


def test_a_cache_that_cannot_be_written_is_told(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(UnwritableFileError, match=f"set {CACHE_VARIABLE} to one"):
        fetch("memory://bucket/with")


def test_a_file_is_its_own_mirror(url):
    put(url, a=b"1")
    mirror, _ = fetch(f"{url}/a.txt")
    assert mirror.path.read_bytes() == b"1"
    assert fetch(f"{url}/a.txt")[1] == []


def test_hidden_files_stay_where_they_are(url):
    put(url, a=b"1", **{".git__config": b"2", ".tmp-0123456789abcdef": b"half"})
    assert fetch(url)[1] == [("fetch", 1)]


def test_a_file_that_comes_in_part_is_not_taken_for_whole(memory, monkeypatch):
    put("memory://bucket/with", a=b"12345")
    monkeypatch.setattr(type(memory), "get_file", lambda self, path, target: Path(target).write_bytes(b"12"))
    with pytest.raises(BadInputError, match="changed while it was fetched"):
        fetch("memory://bucket/with")
    assert not list(Mirror("memory://bucket/with").path.iterdir())


def test_a_damaged_list_costs_a_second_fetch_and_nothing_else(url):
    put(url, a=b"1")
    mirror, _ = fetch(url)
    (mirror.holder / "known.json").write_text("{")
    assert fetch(url)[1] == [("fetch", 1)]


def test_what_is_written_goes_to_the_store_once(url):
    mirror, _ = fetch(url, is_run=True)
    write_run(mirror.path, mask=b"1", votes=b"2")
    assert send(mirror) == [("send", 2)]
    assert RunFolder(mirror.path).record_path.read_text() == json.dumps(read_record(url), indent=2) + "\n"
    assert send(mirror) == []
    (mirror.path / "mask").write_bytes(b"1")  # written again, the same
    assert send(mirror) == []
    assert fetch(url, is_run=True)[1] == []


def test_another_machine_gets_what_was_sent(url, tmp_path, monkeypatch):
    mirror, _ = fetch(url, is_run=True)
    write_run(mirror.path, mask=b"1")
    send(mirror)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))
    other, totals = fetch(url, is_run=True)
    assert totals == [("fetch", 2)]
    assert other.path != mirror.path
    assert RunFolder(other.path).read_record() == {**RECORD, "complete": True}


def test_what_was_removed_here_is_removed_there(url):
    mirror, _ = fetch(url, is_run=True)
    write_run(mirror.path, mask=b"1", stale=b"2")
    send(mirror)
    mirror, _ = fetch(url, is_run=True)
    (mirror.path / "stale").unlink()
    assert send(mirror) == [("remove", 1)]
    assert list(Store(url).list_files()) == ["mask", "run.json"]


def test_a_mirror_that_somebody_emptied_is_filled_and_the_store_keeps_all(url):
    mirror, _ = fetch(url, is_run=True)
    write_run(mirror.path, mask=b"1")
    send(mirror)
    shutil.rmtree(mirror.path)
    mirror, totals = fetch(url, is_run=True)
    assert totals == [("fetch", 2)]
    assert send(mirror) == []


def stop_at(mirror, monkeypatch, stopping):
    """Let the sending of one file fail, as a kill or a lost network would."""
    send_file = Store.send

    def send_or_stop(self, source, name):
        if name == stopping:
            raise KeyboardInterrupt
        return send_file(self, source, name)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "send", send_or_stop)
        with pytest.raises(KeyboardInterrupt):
            mirror.send(lambda *_: None)


def test_a_run_that_was_sent_in_part_is_never_complete(url, tmp_path, monkeypatch):
    mirror, _ = fetch(url, is_run=True)
    write_run(mirror.path, mask=b"old", votes=b"old")
    send(mirror)
    write_run(mirror.path, mask=b"new", votes=b"new")
    stop_at(mirror, monkeypatch, "votes")
    assert read_record(url)["complete"] is False
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))
    other, _ = fetch(url, is_run=True)
    assert RunFolder(other.path).read_record()["complete"] is False


def test_the_next_call_sends_the_rest(url, monkeypatch):
    mirror, _ = fetch(url, is_run=True)
    write_run(mirror.path, mask=b"1", votes=b"2")
    stop_at(mirror, monkeypatch, "votes")
    again, totals = fetch(url, is_run=True)
    assert totals == []
    assert RunFolder(again.path).read_record()["complete"] is True
    assert send(again) == [("send", 1)]
    assert read_record(url)["complete"] is True


def test_the_next_call_sends_the_rest_even_if_nothing_was_noted(url, monkeypatch):
    mirror, _ = fetch(url, is_run=True)
    write_run(mirror.path, mask=b"1", votes=b"2")
    noted = (mirror.holder / "known.json").read_bytes()
    stop_at(mirror, monkeypatch, "votes")
    (mirror.holder / "known.json").write_bytes(noted)  # as kill -9 would leave it
    again, _ = fetch(url, is_run=True)
    # The record in the store says "not complete", and is newer than what is known: it counts.
    assert RunFolder(again.path).read_record()["complete"] is False
    assert (again.path / "votes").read_bytes() == b"2"
    send(again)
    assert read_record(url)["complete"] is False


def test_files_that_only_came_along_do_not_doubt_a_complete_run(url, monkeypatch):
    mirror, _ = fetch(url, is_run=True)
    write_run(mirror.path, mask=b"1")
    send(mirror)
    (mirror.path / "features").write_bytes(b"of an image that was added")
    (mirror.path / "log.jsonl").write_bytes(b"{}")
    stop_at(mirror, monkeypatch, "log.jsonl")
    assert read_record(url)["complete"] is True


def test_of_two_versions_the_stores_counts_and_ours_is_put_aside(url, tmp_path, monkeypatch):
    mirror, _ = fetch(url, is_run=True)
    write_run(mirror.path, corrections=b"none", mask=b"1")
    send(mirror)
    (mirror.path / "corrections").write_bytes(b"of this machine")
    with monkeypatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))
        other, _ = fetch(url, is_run=True)
        (other.path / "corrections").write_bytes(b"of another")
        send(other)
    mirror, _ = fetch(url, is_run=True)
    assert (mirror.path / "corrections").read_bytes() == b"of another"
    assert (mirror.holder / "replaced" / "corrections").read_bytes() == b"of this machine"
    # Masks of one and corrections of the other may not fit together.
    assert RunFolder(mirror.path).read_record()["complete"] is False


def test_two_machines_do_not_write_over_each_other(url, tmp_path, monkeypatch):
    mirror, _ = fetch(url, is_run=True)
    write_run(mirror.path, mask=b"1")
    with monkeypatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))
        other, _ = fetch(url, is_run=True)
        write_run(other.path, mask=b"2")
        send(other)
    with pytest.raises(BusyRunError, match="another segvote wrote to"):
        send(mirror)
    files, root = fsspec.core.url_to_fs(url)
    assert files.cat_file(f"{root}/mask") == b"2"


def test_two_processes_of_one_machine_keep_apart(url):
    with Mirror(url).lock(), pytest.raises(BusyRunError):
        fetch(url)


def test_a_folder_of_something_else_is_refused_before_it_is_fetched(url):
    put(url, thesis=b"1")
    with pytest.raises(BadInputError, match=r"holds no run \(but 'thesis.txt'\)"):
        fetch(url, is_run=True)
    assert not Mirror(url).path.exists()


def test_folders_that_are_not_wanted_stay_away_and_come_when_they_are(url):
    mirror, _ = fetch(url, is_run=True)
    write_run(mirror.path, mask=b"1")
    (mirror.path / "features").mkdir()
    (mirror.path / "features" / "a").write_bytes(b"2")
    send(mirror)
    shutil.rmtree(mirror.holder)
    assert fetch(url, leave_out=("features/",))[1] == [("fetch", 2)]
    mirror, totals = fetch(url, is_run=True)
    assert totals == [("fetch", 1)]
    assert send(mirror) == []


def test_what_a_killed_process_left_in_the_store_is_swept_up_by_the_next_that_writes(url):
    mirror, _ = fetch(url, is_run=True)
    write_run(mirror.path, mask=b"1")
    send(mirror)
    put(url, **{".tmp-0123456789abcdef": b"half", ".mine": b"whole"})
    mirror, _ = fetch(url, is_run=True)
    (mirror.path / "mask").write_bytes(b"2")
    send(mirror)
    files, root = fsspec.core.url_to_fs(url)
    assert sorted(path.removeprefix(f"{root}/") for path in files.find(root)) == [".mine.txt", "mask", "run.json"]


def test_a_file_system_never_shows_half_a_file(tmp_path, monkeypatch):
    url = f"file://{tmp_path}/bucket/run"
    mirror, _ = fetch(url, is_run=True)
    write_run(mirror.path, mask=b"12345")
    files = type(fsspec.filesystem("file"))

    def put_half(self, source, target):
        with open(target, "wb") as file:
            file.write(b"12")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "put_file", put_half)
        with pytest.raises(UnwritableFileError, match="No space left on device"):
            send(mirror)
    assert not list((tmp_path / "bucket/run").rglob("*"))
    send(mirror)
    assert sorted(path.name for path in (tmp_path / "bucket/run").iterdir()) == ["mask", "run.json"]
