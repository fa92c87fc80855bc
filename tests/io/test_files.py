"""Files are regular, whole or absent, and one process at a time writes to a folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from segvote.errors import BadInputError, BusyRunError, SegvoteError, UnwritableFileError
from segvote.io.arrays import read_arrays
from segvote.io.files import atomic_path, hold_folder, remove_leftovers, write_bytes, write_text
from segvote.io.images import hash_file, read_image
from segvote.io.imports import read_any
from segvote.io.imports.cvat import read_cvat_xml
from segvote.io.imports.label_tools import read_labelme
from segvote.io.tables import read_json

READERS = {
    "arrays": read_arrays,
    "cvat": lambda path: list(read_cvat_xml(path)),
    "hash": hash_file,
    "image": read_image,
    "json": read_json,
    "labelme": lambda path: list(read_labelme(path.parent)),
    "any": lambda path: list(read_any(path)),
}


@pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "/dev/null", "folder"])
@pytest.mark.parametrize("reader", READERS)
def test_readers_refuse_pipes_devices_and_folders(tmp_path, reader, kind):
    path = tmp_path / "strange.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        (path / "one.json").mkdir(parents=True)
    else:
        path.symlink_to(kind)
    with pytest.raises((SegvoteError, FileNotFoundError)):
        READERS[reader](path)


# Writing


@pytest.mark.parametrize("durable", [True, False])
def test_a_write_leaves_the_file_and_nothing_else(tmp_path, durable):
    path = tmp_path / "deep" / "er" / "file.bin"
    write_bytes(path, b"one", durable)
    write_bytes(path, b"two", durable)
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_an_error_keeps_the_old_file_and_cleans_up(tmp_path):
    path = tmp_path / "file.bin"
    write_bytes(path, b"old")
    with pytest.raises(KeyboardInterrupt), atomic_path(path) as temporary:
        temporary.write_bytes(b"half of the n")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_leftovers_of_a_killed_process_are_removed(tmp_path):
    write_bytes(tmp_path / "a" / "kept.txt", b"x")
    with atomic_path(tmp_path / "b.txt") as temporary:
        temporary.touch()
        leftover = tmp_path / "a" / temporary.name
    leftover.touch()
    assert remove_leftovers(tmp_path) == 1
    assert not leftover.exists()
    assert (tmp_path / "a" / "kept.txt").exists()


def test_text_is_utf8_even_when_a_file_name_is_not(tmp_path):
    write_text(tmp_path / "a.txt", "kühe\n\udcff")
    assert (tmp_path / "a.txt").read_bytes() == "kühe\n%FF".encode()


def test_a_failed_write_names_the_file(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UnwritableFileError, match=r"cannot write .*file/a.txt .*repeat the command"):
        write_text(tmp_path / "file" / "a.txt", "x")


def test_equal_bytes_are_not_written_again(tmp_path):
    path = tmp_path / "a.png"
    write_bytes(path, b"one", durable=False)
    first = path.stat().st_ino
    write_bytes(path, b"one", durable=False)
    assert path.stat().st_ino == first
    write_bytes(path, b"two", durable=False)
    assert path.read_bytes() == b"two"
    second = path.stat()
    write_bytes(path, b"two")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) != (second.st_ino, second.st_mtime_ns)


def test_a_device_or_a_pipe_is_never_replaced(tmp_path):
    """Root could replace /dev/null; a pipe stands for it here."""
    os.mkfifo(tmp_path / "device")
    with pytest.raises(UnwritableFileError, match="no regular file"):
        write_text(tmp_path / "device", "text")
    assert (tmp_path / "device").is_fifo()


# Locks


HOLD = """
import sys
from pathlib import Path
from segvote.io.files import hold_folder
with hold_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the folder."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.stdin.close()


def test_a_folder_that_another_process_holds_is_refused(holder, tmp_path):
    with pytest.raises(BusyRunError, match=r"another segvote .* wait for it, stop it"), hold_folder(tmp_path / "run"):
        pass


def test_the_lock_of_a_killed_process_is_free(holder, tmp_path):
    holder.kill()
    holder.wait()
    with hold_folder(tmp_path / "run"):
        pass
    assert (tmp_path / "run" / ".lock").read_bytes() == b""


def test_a_lock_that_is_a_link_is_refused(tmp_path):
    (tmp_path / ".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadInputError, match="choose another -o folder"), hold_folder(tmp_path):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_pipe_for_a_lock_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / ".lock")
    with hold_folder(tmp_path):
        pass


@pytest.mark.parametrize("place", ["/dev/null", "/dev/null/run", "/proc/run"])
def test_a_place_that_cannot_be_a_folder_is_refused(place):
    with pytest.raises(BadInputError, match="choose another -o folder"), hold_folder(Path(place)):
        pass
