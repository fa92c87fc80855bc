"""A disk that is full, read-only or closed: one line that says so, and everything is there when it works again."""

import os
import shutil
import subprocess
import sys

import pytest
from commands import COMMANDS, World, read_outputs
from test_kills import EVERY_COMMAND, make_world

from segvote.io.atomic import remove_leftovers


def is_one_clear_line(done):
    """It ended by itself, with exit code 2 and one line on stderr that names a file or folder."""
    lines = [line for line in done["errors"].splitlines() if not line.startswith(("note:", "left out:"))]
    return done["code"] == 2 and len(lines) == 1 and lines[0].startswith("segvote: ") and "/" in lines[0]


def fail_and_repeat(stage, world, command, faults):
    """How many of the faults were not told in one line, or left something behind that harms the next run."""
    calm = make_world(world, "calm")
    first = stage.run(*COMMANDS[command](calm))
    lost = 0
    for number, fault in enumerate(faults(first["moments"])):
        broken = make_world(world, f"broken{number}")
        done = stage.run(*COMMANDS[command](broken), **fault)
        told = done["code"] == 0 or is_one_clear_line(done)
        repeated = stage.run(*COMMANDS[command](broken))
        if not told or repeated["code"] != 0 or read_outputs(broken) != read_outputs(calm):
            print(command, fault, done["code"], done["errors"], repeated["errors"])
            lost += 1
    return lost


@pytest.mark.parametrize("n_faults", [1, pytest.param(25, marks=pytest.mark.slow)])
@pytest.mark.parametrize("command", sorted({*EVERY_COMMAND} - {"import"}))
def test_a_full_disk_is_told_in_one_line(stage, world, ledger, command, n_faults):
    def spread(n_moments):
        """Moments all over a command; the only one is in the middle."""
        return [{"kind": "full", "moment": (2 * n + 1) * n_moments // (2 * n_faults)} for n in range(n_faults)]

    lost = fail_and_repeat(stage, world, command, spread)
    ledger.note(f"`{command}` on a disk that fills up (ENOSPC), repeated", n_faults, lost)


@pytest.mark.parametrize("n_bytes", [1000, pytest.param(4000, marks=pytest.mark.slow)])
def test_a_limit_of_file_sizes_is_told_in_one_line(stage, world, ledger, n_bytes):
    lost = fail_and_repeat(stage, world, "annotate", lambda _: [{"kind": "limit", "n_bytes": n_bytes}])
    ledger.note("`annotate` under a limit of file sizes (EFBIG), repeated", 1, lost)


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted({*EVERY_COMMAND} - {"import", "update"}))  # these begin with a run there
def test_a_small_disk_is_told_in_one_line(stage, world, ledger, command):
    """A real one: a tmpfs, where a new mount namespace may be made."""
    tried = lost = 0
    for n_kilobytes in (8, 32, 64, 128):
        target = make_world(world, f"disk{n_kilobytes}")
        arguments = " ".join(f"'{one}'" for one in COMMANDS[command](target))
        script = f"mount -t tmpfs -o size={n_kilobytes}k none '{target.work}' && cd / && "
        done = run_apart(script + f"exec '{sys.executable}' -m segvote {arguments}")
        if "mount" in done["errors"] or "unshare" in done["errors"]:
            pytest.skip("no new mount namespace here")
        tried, lost = tried + 1, lost + (not (done["code"] == 0 or is_one_clear_line(done)))
        if done["code"] and not is_one_clear_line(done):
            print(done["errors"])
    ledger.note(f"`{command}` on a disk of 8 to 128 kB (tmpfs)", tried, lost)


def run_apart(script):
    command = ["unshare", "-m", "sh", "-c", script] if os.geteuid() == 0 else ["unshare", "-rm", "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True)
    return {"code": done.returncode, "errors": done.stderr}


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_a_closed_folder_is_told_in_one_line(stage, world, ledger, command):
    arguments = COMMANDS[command](world)
    closed = [world.work, *world.work.glob("run"), *world.work.glob("out")]
    for folder in closed:
        folder.chmod(0o555)
    done = stage.run(*arguments, kind="no privileges")
    for folder in closed:
        folder.chmod(0o755)
    ledger.note(f"`{command}` into a read-only folder", 1, int(not is_one_clear_line(done)))


# Commands that only read a run, and those that write into it.
READING = (
    ["explain", "with-000.png"],
    ["doctor"],
    ["evaluate", "--truth", "MASKS"],
    ["export", "--format", "png", "-o", "OWN"],
)
WRITING = (["update"], ["import", "COCO"], ["review", "--no-browser"], ["export", "--format", "png"])


def use_as_another(stage, world, run, arguments):
    """Run a command as a user who may read the run folder and not write to it."""
    places = {"MASKS": world.scenes / "masks", "OWN": world.work / "own", "COCO": run / "annotations.coco.json"}
    given = [places.get(one, one) for one in arguments[1:]]
    return stage.run(arguments[0], run, *given, kind="no privileges", time_limit=600)


@pytest.mark.skipif(os.geteuid() != 0, reason="files can be given to another user by root only")
def test_the_run_of_another_user_is_read_and_not_written(stage, world, ledger):
    run = world.copy_run()
    for path in (run, *run.rglob("*")):
        os.chown(path, 65534, 65534)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    read = [use_as_another(stage, world, run, one) for one in READING]
    refused = [use_as_another(stage, world, run, one) for one in WRITING]
    lost = sum(done["code"] != 0 for done in read) + sum(not is_one_clear_line(done) for done in refused)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    ledger.note("commands on the run folder of another user", len(READING) + len(WRITING), lost)


def test_an_image_without_permission_is_named(stage, world, ledger):
    scenes = world.work / "scenes"
    shutil.copytree(world.scenes, scenes)
    own = World(scenes, world.run, world.work)
    (scenes / "with" / "with-001.png").chmod(0)
    done = stage.run(*COMMANDS["annotate"](own), kind="no privileges")
    named = done["code"] == 0 and "with-001.png: cannot be read (Permission denied)" in done["errors"]
    ledger.note("an image without permission", 1, int(not named))


def test_nothing_hidden_stays_behind_after_a_full_disk(stage, world):
    stage.run(*COMMANDS["annotate"](world), kind="full", moment=40)
    assert remove_leftovers(world.work) == 0
