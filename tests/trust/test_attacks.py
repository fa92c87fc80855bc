"""Commands under attack: whatever goes wrong at any moment, the repeated command ends as if nothing had happened."""

import contextlib
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import COMMANDS, EVERY_COMMAND, World, list_outputs, read_outputs, write_corrected

from segvote.io.arrays import read_arrays
from segvote.io.files import remove_leftovers
from segvote.io.tables import read_json
from segvote.steps.importing import import_corrections

YEAR = 365 * 86400.0
STOPPED = "segvote: stopped; repeat the command to continue where it was"


def is_one_clear_line(done):
    """It ended by itself, with exit code 2 and one line on stderr that names a file or folder."""
    lines = [
        line for line in done["errors"].splitlines() if not re.match(r"note:|left out:|[a-z ]+: \d+ of \d+$", line)
    ]
    return done["code"] == 2 and len(lines) == 1 and lines[0].startswith("segvote: ") and "/" in lines[0]


def is_told(done):
    return done["code"] == 0 or is_one_clear_line(done)


def is_stopped(done):
    """Ctrl-C: one line, no traceback; a command may also be done before."""
    lines = done["errors"].strip().splitlines()
    return done["code"] == 0 or (done["code"] == 130 and lines[-1:] == [STOPPED] and "Traceback" not in done["errors"])


@dataclass(frozen=True)
class Attack:
    """What goes wrong, given a generator of random numbers and a run without it; which endings are fine; how often."""

    choose: Callable
    is_fine: Callable
    n_times: int


def choose_moment(kind, **details):
    return lambda rng, calm, place: {"kind": kind, "moment": rng.randrange(max(1, calm["moments"])), **details}


def choose_kill(rng, calm, place):
    """Half of the kills at a moment counted in files, half at any time."""
    if rng.random() < 0.5:
        return choose_moment("kill")(rng, calm, place)
    return {"kind": "kill", "seconds": rng.uniform(0, calm["seconds"])}


def choose_look(rng, calm, place):
    return {"kind": "late", "moment": int(10 ** rng.uniform(0, 2.7)), "below": str(place.scenes.parent)}


def choose_limit(rng, calm, place):
    return {"kind": "limit", "n_bytes": rng.choice([1000, 4000])}


def choose_jump(rng, calm, place):
    return choose_moment("clock", seconds=rng.choice([-10 * YEAR, 100 * YEAR]))(rng, calm, place)


ATTACKS = {
    "killed (SIGKILL)": Attack(choose_kill, lambda done: done["code"] in (0, -signal.SIGKILL), 40),
    "stopped (Ctrl-C)": Attack(choose_moment("interrupt"), is_stopped, 12),
    "on a disk that fills up (ENOSPC)": Attack(choose_moment("full"), is_told, 20),
    "on files that become visible late": Attack(choose_look, is_told, 20),
    "under a limit of file sizes (EFBIG)": Attack(choose_limit, is_told, 2),
    "while the clock jumps by years": Attack(choose_jump, lambda done: done["code"] == 0, 2),
}


def is_whole(path):
    """Whether a file can be read to the end."""
    return {".json": read_json, ".npz": read_arrays}.get(path.suffix, Path.read_bytes)(path) is not None


def is_result(name):
    return name.split("/")[0] in ("results", "scores")


def attack(stage, world, command, attacks, seed):
    """Run a command on one folder once under each attack, then to the end; returns how many attempts were lost."""
    calm, rng = world.make_another("calm"), random.Random(f"{command} {seed}")
    first = stage.run(*calm.type(command))
    assert first["code"] == 0, first["errors"]
    attacked, lost = world.make_another("attacked"), 0
    for one in attacks:
        fault = one.choose(rng, first, world)
        done = stage.run(*attacked.type(command), **fault)
        if not (one.is_fine(done) and all(is_whole(path) for path in list_outputs(attacked))):
            print(command, fault, done["code"], done["errors"][-2000:])
            lost += 1
    last = stage.run(*attacked.type(command))
    assert last["code"] == 0, last["errors"]
    wanted = read_outputs(calm)
    # A comparison on the files that were visible is kept, too, under a key of its own.
    found = {name: one for name, one in read_outputs(attacked).items() if name in wanted or not is_result(name)}
    print("differ:", [name for name in {*found, *wanted} if found.get(name) != wanted.get(name)])
    return lost + (found != wanted)


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_a_command_survives_one_of_each(stage, world, ledger, command):
    ledger(f"`{command}`, one of each attack", len(ATTACKS), attack(stage, world, command, ATTACKS.values(), 0))


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_a_command_survives_many(stage, world, ledger, command, name):
    n_times = ATTACKS[name].n_times
    lost = attack(stage, world, command, [ATTACKS[name]] * n_times, name)
    ledger(f"`{command}` {name}, repeated", n_times, lost)


@pytest.fixture(scope="module")
def corrected(tiny_run, tiny_scenes, tmp_path_factory):
    """A finished run with a correction that was not voted on yet; only for reading."""
    work = tmp_path_factory.mktemp("corrected")
    folder = Path(shutil.copytree(tiny_run, work / "out"))
    import_corrections(folder, write_corrected(World(tiny_scenes, tiny_run, work)), label="object")
    return folder


@pytest.mark.parametrize(
    "command",
    [*("annotate", "extent", "import", "update OUT --jobs 1"), "export OUT --format png -o OUT/copy --instances"],
)
def test_late_corrections_are_not_ignored(stage, world, corrected, ledger, command):
    """`review.sqlite` is not visible at first: the outputs have the corrections, or the command ends in one line."""
    done, places = [], [world.make_another(name) for name in ("calm", "late")]
    for place, fault in zip(places, ({}, {"kind": "late", "moment": 0}), strict=True):
        shutil.copytree(corrected, place.out)
        done.append(stage.run(*place.type(command), below=str(place.out / "review.sqlite"), **fault))
    same = done[1]["code"] == 0 and read_outputs(places[0]) == read_outputs(places[1])
    assert done[0]["code"] == 0, done[0]["errors"]
    ledger("commands on a run whose `review.sqlite` becomes visible late", 1, not (same or is_one_clear_line(done[1])))


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_a_closed_folder_is_one_line(stage, world, ledger, command):
    arguments = world.type(command)
    closed = [world.work, *world.work.glob("out")]
    for folder in closed:
        folder.chmod(0o555)
    done = stage.run(*arguments, kind="no privileges")
    for folder in closed:
        folder.chmod(0o755)
    ledger("commands that write into a read-only folder", 1, not is_one_clear_line(done))


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", sorted({*COMMANDS} - {"extent", "import", "update"})
)  # these begin with a run there
def test_a_small_disk_is_one_line(world, ledger, command):
    """A real one: a tmpfs, where a new mount namespace may be made."""
    lost = 0
    for n_kilobytes in (8, 32, 128):
        target = world.make_another(f"disk{n_kilobytes}")
        typed = shlex.join([sys.executable, "-m", "segvote", *target.type(command)])
        script = f"mount -t tmpfs -o size={n_kilobytes}k none '{target.work}' && cd / && exec {typed}"
        unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        done = subprocess.run([*unshare, "sh", "-c", script], capture_output=True, text=True)
        if "mount" in done.stderr or "unshare" in done.stderr:
            pytest.skip("no new mount namespace here")
        if not is_told({"code": done.returncode, "errors": done.stderr}):
            print(done.stderr)
            lost += 1
    ledger("commands on a disk of 8, 32 and 128 kB (tmpfs)", 3, lost)


@pytest.mark.parametrize("command", ["annotate", "annotate --classes", "extent", "predict", "update"])
def test_the_second_command_on_a_folder_is_refused(stage, world, ledger, command):
    started = stage.start(*world.type(command), kind="pause", moment=8)
    while Path(f"/proc/{started['pid']}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.005)
    second = stage.run(*world.type(command))
    os.kill(started["pid"], signal.SIGCONT)
    first = stage.wait(started)
    refused = is_one_clear_line(second) and "another segvote is writing" in second["errors"]
    ledger("a second command on the same folder", 1, first["code"] != 0 or not refused)


def test_nothing_hidden_stays_behind_after_a_full_disk(stage, world):
    stage.run(*world.type("annotate"), kind="full", moment=40)
    assert remove_leftovers(world.work) == 0


# An input that changes while a command runs.


@pytest.mark.parametrize(
    ("how", "moments"),
    [
        ("replace", [5]),
        *(
            pytest.param(how, range(0, 120, 15), marks=pytest.mark.slow)
            for how in ("remove", "folder", "replace", "truncate", "fifo")
        ),
    ],
)
def test_an_input_that_changes_is_named(stage, world, ledger, how, moments):
    """The run ends well or in one line, and the next one on the old input has the old masks."""
    own = World(Path(shutil.copytree(world.scenes, world.work / "scenes")), world.run, world.work)
    calm, lost = own.make_another("calm"), 0
    stage.run(*calm.type("annotate"))
    image = own.scenes / "with" / "with-001.png"
    content = image.read_bytes()
    for moment in moments:
        changed = own.make_another(f"changed{moment}")
        done = stage.run(*changed.type("annotate"), kind="change", moment=moment, path=str(image), how=how)
        shutil.rmtree(image) if image.is_dir() else image.unlink(missing_ok=True)
        image.write_bytes(content)
        last = stage.run(*changed.type("annotate"))
        lost += not is_told(done) or done["hung"] or last["code"] != 0 or read_outputs(changed) != read_outputs(calm)
    ledger("inputs changed, removed, replaced while `annotate` runs", len(moments), lost)


def test_an_image_without_permission_is_named(stage, world, ledger):
    own = World(Path(shutil.copytree(world.scenes, world.work / "scenes")), world.run, world.work)
    (own.scenes / "with" / "with-001.png").chmod(0)
    done = stage.run(*own.type("annotate"), kind="no privileges")
    named = done["code"] == 0 and "with-001.png: cannot be read (Permission denied)" in done["errors"]
    ledger("an image without permission", 1, not named)


# Workers.


def make_many(world, n_copies):
    """Scenes of which each image is there several times, with other bytes at its end."""
    for source in (world.scenes / "with", world.scenes / "without"):
        target = world.work / "many" / source.name
        target.mkdir(parents=True)
        for number, path in enumerate(sorted(source.iterdir()) * n_copies):
            (target / f"{number}.png").write_bytes(path.read_bytes() + bytes([number]))
    return World(world.work / "many", world.run, world.work)


def start_with(world, *options):
    """`annotate` as a process of its own, until it has segmented two images."""
    command = [*world.type("annotate"), *options]
    process = subprocess.Popen(
        [sys.executable, "-m", "segvote", *command],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    while process.poll() is None and len(list(world.out.glob("segments/*"))) < 2:
        time.sleep(0.01)
    return process


@pytest.mark.slow
def test_a_killed_worker_is_replaced(world, ledger):
    place = make_many(world, 4)
    process = start_with(place, "--jobs", "2")
    workers = [int(one) for one in os.listdir("/proc") if one.isdecimal() and is_worker(int(one), process.pid)]
    os.kill(workers[0], signal.SIGKILL)
    code = process.wait()
    process.stderr.close()
    ledger("a worker process killed", 1, code != 0 or len(list(place.out.rglob("masks/*/*.png"))) != 24)


def is_worker(pid, parent):
    """Whether a process is a worker of joblib's, and the child of another."""
    try:
        stat, command = Path(f"/proc/{pid}/stat").read_text(), Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return int(stat.rpartition(")")[2].split()[1]) == parent and b"popen_loky" in command


@pytest.mark.slow
def test_a_killed_dask_scheduler_is_one_line(world, ledger):
    pytest.importorskip("distributed")
    local = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    with start_dask("scheduler", *local) as scheduler:
        address = next(re.search(r"tcp://127\.0\.0\.1:\d+", line) for line in scheduler.stderr if "tcp://" in line)[0]
        with start_dask("worker", address, "--nthreads", "2", "--no-nanny", "--no-dashboard"):
            place = make_many(world, 8)
            process = start_with(place, "--scheduler", address)
            scheduler.kill()
            errors = process.communicate()[1]
    done = {"code": process.returncode, "errors": errors}
    print(done)
    again = subprocess.run([sys.executable, "-m", "segvote", *place.type("annotate")], capture_output=True)
    told = is_told(done) and "scheduler" in errors
    ledger("the Dask scheduler killed, `annotate` repeated without it", 1, not told or again.returncode != 0)


@contextlib.contextmanager
def start_dask(part, *arguments):
    command = [sys.executable, "-m", f"distributed.cli.dask_{part}", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()
