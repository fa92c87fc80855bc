"""Objects of stores: whole or not at all, and another attempt after errors that may pass."""

import errno
from pathlib import Path

import pytest

from segvote.errors import UnwritableFileError
from segvote.io import objects
from segvote.io.objects import ATTEMPTS, Store, StoreError, fetch_placeholder, is_transient, retry, write_placeholder

fsspec = pytest.importorskip("fsspec")


@pytest.fixture(autouse=True)
def pauses(monkeypatch):
    """Pauses that were made, none of which is waited for."""
    made = []
    monkeypatch.setattr(objects.time, "sleep", made.append)
    return made


@pytest.fixture
def memory():
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()


class NoCredentialsError(Exception):
    __module__ = "botocore.exceptions"


class ServerDisconnectedError(Exception):
    __module__ = "aiohttp.client_exceptions"


def fail_with(errors):
    remaining = list(errors)

    def request():
        if remaining:
            raise remaining.pop()
        return "answer"

    return request


def test_requests_are_repeated_after_longer_and_longer(pauses):
    assert retry(fail_with([ConnectionResetError()] * (ATTEMPTS - 1))) == "answer"
    assert all(0.5 <= pause / (objects.PAUSE * 2**number) <= 1.5 for number, pause in enumerate(pauses))
    assert len(pauses) == ATTEMPTS - 1
    with pytest.raises(ConnectionResetError):
        retry(fail_with([ConnectionResetError()] * ATTEMPTS))


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (OSError(errno.EBUSY, "SlowDown"), True),
        (OSError(errno.EREMOTEIO, "InternalError"), True),
        (TimeoutError(), True),
        (ServerDisconnectedError(), True),
        (FileNotFoundError(), False),
        (PermissionError(), False),
        (OSError(errno.ENOSPC, "full"), False),
        (NoCredentialsError(), False),
        (ValueError(), False),
    ],
)
def test_only_errors_that_may_pass_are_repeated(error, passes, pauses):
    assert is_transient(error) == passes
    if not passes:
        with pytest.raises(type(error)):
            retry(fail_with([error]))
        assert not pauses


def test_a_disk_never_shows_half_an_object(tmp_path, monkeypatch):
    store, files = Store(f"file://{tmp_path}/store"), fsspec.filesystem("file")
    store.write("deep/a", b"old")

    def stop(here, target, **options):
        Path(target).write_bytes(b"ne")
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "a").write_bytes(b"new")
    (tmp_path / "deep").mkdir()
    (tmp_path / "a").rename(tmp_path / "deep/a")
    monkeypatch.setattr(type(files), "put_file", lambda files, *given, **options: stop(*given, **options))
    with pytest.raises(UnwritableFileError, match="No space left"):
        store.put(["deep/a"], tmp_path)
    assert [path.name for path in (tmp_path / "store/deep").iterdir()] == ["a"] and store.read("deep/a") == b"old"


def test_a_broken_transfer_leaves_no_file(memory, tmp_path, monkeypatch):
    store = Store("memory://bucket")
    store.write("a", b"1")

    def stop(files, there, here, **options):
        Path(here).write_bytes(b"half")
        raise ConnectionResetError

    monkeypatch.setattr(type(memory), "get_file", stop)
    with pytest.raises(StoreError, match="cannot read memory://bucket"):
        store.get(["a"], tmp_path)
    assert not list(tmp_path.iterdir())


def test_many_objects_are_read_at_once(memory):
    store = Store("memory://bucket")
    for name in ("a", "b"):
        store.write(name, name.encode())
    assert dict(store.read_many(["a", "none", "b"])) == {"a": b"a", "none": None, "b": b"b"}
    store.delete("a")
    store.delete("a")
    assert list(store.list()) == ["b"]


def test_an_empty_file_outside_the_cache_is_no_placeholder(tmp_path):
    write_placeholder(tmp_path / "a")
    fetch_placeholder(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b""
