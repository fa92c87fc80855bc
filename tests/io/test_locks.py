"""One process at a time writes to a folder; who comes second is told who was first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from segvote.errors import BadInputError, BusyRunError
from segvote.io.files import hold_folder

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


def test_the_error_names_the_process_that_holds_the_lock(holder, tmp_path):
    with (
        pytest.raises(BusyRunError, match=rf"process {holder.pid}, since .* wait for it, stop it"),
        hold_folder(tmp_path / "run"),
    ):
        pass


def test_a_killed_holder_is_in_nobody_s_way(holder, tmp_path):
    holder.kill()
    holder.wait()
    with hold_folder(tmp_path / "run"):
        pass
    assert (tmp_path / "run" / ".lock").read_bytes() == b""


def test_a_folder_that_was_held_is_as_before(tmp_path):
    with hold_folder(tmp_path / "run"):
        assert (tmp_path / "run" / ".lock").read_text().startswith(f"{os.getpid()} ")
    assert [path.name for path in (tmp_path / "run").iterdir()] == [".lock"]
    assert (tmp_path / "run" / ".lock").read_bytes() == b""


@pytest.mark.parametrize("kind", ["link", "hard link"])
def test_a_lock_that_is_somebody_s_file_is_not_written_to(tmp_path, kind):
    (tmp_path / "precious").write_text("keep me")
    (tmp_path / "run").mkdir()
    if kind == "link":
        (tmp_path / "run" / ".lock").symlink_to(tmp_path / "precious")
        with pytest.raises(BadInputError, match="choose another -o folder"), hold_folder(tmp_path / "run"):
            pass
    else:
        (tmp_path / "run" / ".lock").hardlink_to(tmp_path / "precious")
        with hold_folder(tmp_path / "run"):
            pass
    assert (tmp_path / "precious").read_text() == "keep me"


def test_a_pipe_for_a_lock_is_not_waited_for(tmp_path):
    (tmp_path / "run").mkdir()
    os.mkfifo(tmp_path / "run" / ".lock")
    with hold_folder(tmp_path / "run"):
        pass


@pytest.mark.parametrize("text", ["", "nonsense", "1 \x1b[31mred 2026-01-01 00:00:00\n", "9" * 5000])
def test_what_is_no_note_of_ours_is_not_repeated(holder, tmp_path, text):
    (tmp_path / "run" / ".lock").write_text(text)
    with pytest.raises(BusyRunError, match="another segvote is writing"), hold_folder(tmp_path / "run"):
        pass


@pytest.mark.parametrize("place", ["/dev/null", "/dev/null/run", "/proc/run"])
def test_what_is_no_folder_is_refused(place):
    with pytest.raises(BadInputError, match="choose another -o folder"), hold_folder(Path(place)):
        pass
