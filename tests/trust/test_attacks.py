"""Commands that are killed, stopped, or run out of disk space: the repeated command gives the undisturbed outputs."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import EVERY_COMMAND, World, list_outputs, read_outputs

from segvote.io.arrays import read_arrays
from segvote.io.files import remove_leftovers
from segvote.io.tables import read_json

STOPPED = "segvote: stopped; repeat the command to continue where it was"


def is_one_line(done):
    """Exit code 2 and one line on stderr that names a file or folder."""
    lines = [
        line for line in done["errors"].splitlines() if not re.match(r"note:|left out:|[a-z ]+: \d+ of \d+$", line)
    ]
    return done["code"] == 2 and len(lines) == 1 and lines[0].startswith("segvote: ") and "/" in lines[0]


def is_success_or_one_line(done):
    return done["code"] == 0 or is_one_line(done)


def is_stopped(done):
    """Ctrl-C: one line, no traceback; a command may also be done before."""
    lines = done["errors"].strip().splitlines()
    return done["code"] == 0 or (done["code"] == 130 and lines[-1:] == [STOPPED] and "Traceback" not in done["errors"])


@dataclass(frozen=True)
class Attack:
    choose: Callable  # the fault, from a generator of random numbers and an undisturbed run
    is_fine: Callable  # whether the command ended as it should
    n_times: int


def choose_moment(kind):
    return lambda rng, calm: {"kind": kind, "moment": rng.randrange(max(1, calm["moments"]))}


def choose_kill(rng, calm):
    """Half of the kills at a moment counted in files, half at any time."""
    if rng.random() < 0.5:
        return choose_moment("kill")(rng, calm)
    return {"kind": "kill", "seconds": rng.uniform(0, calm["seconds"])}


ATTACKS = {
    "killed": Attack(choose_kill, lambda done: done["code"] in (0, -signal.SIGKILL), 40),
    "stopped": Attack(choose_moment("interrupt"), is_stopped, 12),
    "disk full": Attack(choose_moment("full"), is_success_or_one_line, 20),
}


def check_whole(path):
    {".json": read_json, ".npz": read_arrays}.get(path.suffix, Path.read_bytes)(path)


def attack(stage, world, command, attacks, seed):
    """Run a command on one folder once under each attack, then to the end."""
    calm, rng = world.make_another("calm"), random.Random(f"{command} {seed}")
    first = stage.run(*calm.type(command))
    assert first["code"] == 0, first["errors"]
    attacked = world.make_another("attacked")
    for one in attacks:
        fault = one.choose(rng, first)
        done = stage.run(*attacked.type(command), **fault)
        assert one.is_fine(done), (fault, done)
        for path in list_outputs(attacked):
            check_whole(path)
    last = stage.run(*attacked.type(command))
    assert last["code"] == 0, last["errors"]
    assert read_outputs(attacked) == read_outputs(calm)


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_a_command_survives_one_of_each(stage, world, command):
    attack(stage, world, command, ATTACKS.values(), 0)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_a_command_survives_many(stage, world, command, name):
    attack(stage, world, command, [ATTACKS[name]] * ATTACKS[name].n_times, name)


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_a_read_only_folder_is_one_line(stage, world, command):
    arguments = world.type(command)
    closed = [world.work, *world.work.glob("out")]
    for folder in closed:
        folder.chmod(0o555)
    done = stage.run(*arguments, kind="no privileges")
    for folder in closed:
        folder.chmod(0o755)
    assert is_one_line(done), done


@pytest.mark.parametrize("command", ["annotate", "annotate --classes", "choose", "extent", "predict", "update"])
def test_the_second_command_on_a_folder_is_refused(stage, world, command):
    started = stage.start(*world.type(command), kind="pause", moment=8)
    while Path(f"/proc/{started.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.005)
    second = stage.run(*world.type(command))
    os.kill(started.pid, signal.SIGCONT)
    assert stage.wait(started)["code"] == 0
    assert is_one_line(second) and "another segvote is writing" in second["errors"]


def test_a_full_disk_leaves_no_hidden_file(stage, world):
    stage.run(*world.type("annotate"), kind="full", moment=40)
    assert remove_leftovers(world.work) == 0


@pytest.mark.parametrize(
    ("how", "moments"),
    [
        ("replace", [5]),
        *(
            pytest.param(how, range(0, 120, 15), marks=pytest.mark.slow)
            for how in ("remove", "replace", "truncate", "pipe")
        ),
    ],
)
def test_an_input_may_change_while_it_is_read(stage, world, how, moments):
    """The run ends well or in one line, and the next one on the old input has the old masks."""
    own = World(Path(shutil.copytree(world.scenes, world.work / "scenes")), world.run, world.work)
    calm, image = own.make_another("calm"), own.scenes / "with" / "with-001.png"
    stage.run(*calm.type("annotate"))
    content = image.read_bytes()
    for moment in moments:
        changed = own.make_another(f"changed{moment}")
        done = stage.run(*changed.type("annotate"), kind="change", moment=moment, path=str(image), how=how)
        assert is_success_or_one_line(done), (moment, done)
        image.unlink(missing_ok=True)
        image.write_bytes(content)
        assert stage.run(*changed.type("annotate"))["code"] == 0
        assert read_outputs(changed) == read_outputs(calm), moment


KILLED_WORKER = """
import os, signal, sys
from segvote.pipeline.workers import Resources, run_on_all
def work(number):
    if number == 5 and not os.path.exists(sys.argv[1]):
        open(sys.argv[1], "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return number
sys.exit(list(run_on_all(work, range(12), Resources(2))) != list(range(12)))
"""


def test_the_work_of_a_killed_worker_is_done_again(tmp_path):
    subprocess.run(
        [sys.executable, "-c", KILLED_WORKER.replace("sys.argv[1]", repr(str(tmp_path / "killed")))], check=True
    )
    assert (tmp_path / "killed").exists()
