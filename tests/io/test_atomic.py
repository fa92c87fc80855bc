"""A file is whole or absent."""

import os

import pytest

from segvote.errors import UnwritableFileError
from segvote.io.atomic import atomic_path, remove_leftovers, write_bytes, write_text


@pytest.mark.parametrize("durable", [True, False])
def test_the_block_writes_the_file_and_leaves_nothing_else(tmp_path, durable):
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


def test_a_block_that_writes_nothing_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "file.bin"):
        pass


def test_the_sibling_is_hidden_short_and_keeps_the_extension(tmp_path):
    with atomic_path(tmp_path / ("n" * 250 + ".png")) as temporary:
        temporary.touch()
        assert temporary.name.startswith(".")
        assert temporary.suffix == ".png"
        assert temporary.parent == tmp_path


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


def test_a_file_of_somebody_else_that_begins_like_ours_is_kept(tmp_path):
    (tmp_path / ".tmp-notes.txt").touch()
    (tmp_path / ".tmp-folder").mkdir()
    assert remove_leftovers(tmp_path) == 0


def test_what_the_system_refuses_is_told_with_the_name(tmp_path):
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


def test_a_device_or_a_pipe_is_never_replaced_by_a_file(tmp_path):
    """Root may do so, and the whole machine would lose its /dev/null: a pipe stands for it here."""
    os.mkfifo(tmp_path / "device")
    with pytest.raises(UnwritableFileError, match="no regular file"):
        write_text(tmp_path / "device", "text")
    assert (tmp_path / "device").is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["device"]
