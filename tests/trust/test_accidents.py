"""What happens around a run: inputs that change, a clock that jumps, Ctrl-C, two at once, a dead worker, bad bits."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from commands import COMMANDS, World, read_log, read_outputs
from test_disk import is_one_clear_line
from test_kills import EVERY_COMMAND, make_world

from segvote.errors import DamagedFileError, SegvoteError
from segvote.io.arrays import read_arrays
from segvote.run.correction_log import Action, CorrectionLog, read_actions
from segvote.run.run import Run
from segvote.steps.prediction.model import read_model

HOWS = ("remove", "folder", "replace", "truncate", "fifo")


def own_scenes(world, name):
    """Scenes that may be changed."""
    shutil.copytree(world.scenes, world.work / name / "scenes")
    return World(world.work / name / "scenes", world.run, world.work / name)


def change_while_running(stage, world, how, moment, number):
    """Whether a run on inputs that changed ends well, or in one line; and the next one on the inputs of before, too."""
    place = own_scenes(world, f"changed-{how}-{number}")
    image = place.scenes / "with" / "with-001.png"
    content = image.read_bytes()
    done = stage.run(*COMMANDS["annotate"](place), kind="change", moment=moment, path=str(image), how=how)
    if done["hung"] or (done["code"] != 0 and not is_one_clear_line(done)):
        print(how, moment, done)
        return False
    shutil.rmtree(image) if image.is_dir() else image.unlink(missing_ok=True)
    image.write_bytes(content)
    last = stage.run(*COMMANDS["annotate"](place))
    return last["code"] == 0 and read_results(place) == read_results(calm_run(stage, world))


def calm_run(stage, world):
    place = World(world.scenes, world.run, world.work / "calm")
    if not place.work.exists():
        place.work.mkdir()
        assert stage.run(*COMMANDS["annotate"](place))["code"] == 0
    return place


def read_results(world):
    """Masks and votes: they may not know where the images lay."""
    return {name: data for name, data in read_outputs(world).items() if name.startswith(("out/masks", "out/votes"))}


@pytest.mark.parametrize(
    ("how", "moments"),
    [
        ("replace", [5]),
        ("remove", [5]),
        *(pytest.param(how, range(0, 120, 10), marks=pytest.mark.slow) for how in HOWS),
    ],
)
def test_an_input_that_changes_is_named(stage, world, ledger, how, moments):
    lost = sum(not change_while_running(stage, world, how, moment, moment) for moment in moments)
    ledger.note("inputs changed, removed, replaced while `annotate` runs", len(moments), lost)


@pytest.mark.parametrize("seconds", [-10 * 365 * 86400, 100 * 365 * 86400])
@pytest.mark.parametrize("command", ["annotate", "predict", "update"])
def test_a_clock_that_jumps_changes_nothing(stage, world, ledger, command, seconds):
    calm, jumped = make_world(world, "calm"), make_world(world, "jumped")
    stage.run(*COMMANDS[command](calm))
    done = stage.run(*COMMANDS[command](jumped), kind="clock", moment=10, seconds=seconds)
    lost = done["code"] != 0 or read_outputs(calm) != read_outputs(jumped)
    ledger.note("the clock jumps by years", 1, int(lost))


def interrupt_and_repeat(stage, world, command, n_times):
    calm = make_world(world, "calm")
    first = stage.run(*COMMANDS[command](calm))
    stopped, lost = make_world(world, "stopped"), 0
    for number in range(n_times):
        moment = number * first["moments"] // n_times
        done = stage.run(*COMMANDS[command](stopped), kind="interrupt", moment=moment)
        told = done["errors"].strip().splitlines()[-1:] == [
            "segvote: stopped; repeat the command to continue where it was"
        ]
        if not (done["code"] == 0 or (done["code"] == 130 and told and "Traceback" not in done["errors"])):
            print(command, moment, done["code"], done["errors"])
            lost += 1
    last = stage.run(*COMMANDS[command](stopped))
    return lost + (last["code"] != 0 or read_outputs(stopped) != read_outputs(calm))


@pytest.mark.parametrize(
    ("command", "n_times"),
    [("annotate", 3), *(pytest.param(command, 30, marks=pytest.mark.slow) for command in EVERY_COMMAND)],
)
def test_ctrl_c_stops_in_one_line(stage, world, ledger, command, n_times):
    lost = interrupt_and_repeat(stage, world, command, n_times)
    ledger.note(f"Ctrl-C in `{command}`, repeated", n_times, lost)


@pytest.mark.parametrize("command", ["annotate", "annotate --classes", "predict", "update"])
def test_the_second_of_two_runs_on_one_folder_is_refused(stage, world, ledger, command):
    started = stage.start(*COMMANDS[command](world), kind="pause", moment=8)
    while Path(f"/proc/{started['pid']}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.005)
    second = stage.run(*COMMANDS[command](world))
    os.kill(started["pid"], signal.SIGCONT)
    first = stage.wait(started)
    refused = is_one_clear_line(second) and "another segvote (process" in second["errors"]
    ledger.note(f"a second `{command}` on the same folder", 1, int(first["code"] != 0 or not refused))


@pytest.mark.slow
def test_a_killed_worker_is_replaced(world, ledger, tmp_path):
    """Real processes: two workers, one of which dies."""
    scenes = tmp_path / "many"
    for tag in ("with", "without"):
        (scenes / tag).mkdir(parents=True)
        for number, path in enumerate(sorted((world.scenes / tag).iterdir()) * 4):
            (scenes / tag / f"{number}.png").write_bytes(path.read_bytes() + bytes([number]))
    place = World(scenes, world.run, world.work)
    arguments = [str(one) for one in COMMANDS["annotate"](place)]
    arguments[arguments.index("--jobs") + 1] = "2"
    process = subprocess.Popen([sys.executable, "-m", "segvote", *arguments], stdout=subprocess.DEVNULL)
    segments = world.work / "out" / "segments"
    while process.poll() is None and (not segments.exists() or len(list(segments.iterdir())) < 2):
        time.sleep(0.01)
    killed = [os.kill(worker, signal.SIGKILL) for worker in list_workers(process.pid)[:1]]
    code = process.wait()
    n_masks = len(list((world.work / "out" / "masks").rglob("*.png")))
    ledger.note("a worker process killed", max(1, len(killed)), int(code != 0 or n_masks != 24))


def list_workers(pid):
    """Children of a process that run Python's loky workers."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    is_worker = b"popen_loky" in file.read()
            except OSError:
                continue
            if parent == pid and is_worker:
                found.append(int(entry))
    return found


# Bad sectors: a bit turned anywhere is noticed, or changes nothing.


def flip(path, rng):
    data = bytearray(path.read_bytes())
    place = int(rng.integers(len(data)))
    data[place] ^= 1 << int(rng.integers(8))
    path.write_bytes(data)


def count_unnoticed(path, read, n_flips, seed=0):
    """How many turned bits gave another answer, or an error without the name of the file."""
    whole, wanted, rng, lost = path.read_bytes(), read(), np.random.default_rng(seed), 0
    for _ in range(n_flips):
        flip(path, rng)
        try:
            lost += repr(read()) != repr(wanted)
        except SegvoteError as error:
            lost += path.name not in str(error)
        except Exception as error:
            print(type(error).__name__, error)
            lost += 1
        path.write_bytes(whole)
    return lost


def freeze(arrays):
    return {name: (array.shape, array.dtype.str, array.tobytes()) for name, array in arrays.items()}


@pytest.mark.parametrize("n_flips", [80, pytest.param(800, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["features", "model", "review.sqlite", "run.json", "segments", "votes"])
def test_a_turned_bit_is_noticed(world, ledger, kind, n_flips):
    run = world.copy_run()
    if kind in ("features", "segments", "votes"):
        path = sorted((run / kind).glob("*.npz"))[0]
        lost = count_unnoticed(path, lambda: freeze(read_arrays(path)), n_flips)
    elif kind == "run.json":
        path = run / kind
        lost = count_unnoticed(path, lambda: describe_run(Run(run)), n_flips)
    elif kind == "model":
        path = run / "model" / "model.safetensors"
        lost = count_unnoticed(path, lambda: freeze(read_model(run).arrays), n_flips)
    else:
        path = write_log(run)
        lost = count_unnoticed(path, lambda: read_actions(path), n_flips)
    ledger.note(f"a bit turned in `{kind}`", n_flips, lost)


def describe_run(run):
    """All that is used of a record: a turned bit in the name of the checksum changes none of it."""
    return run.to_table(), run.settings, run.inputs, run.record["key"], run.record["problems"]


def write_log(run):
    log = CorrectionLog(run / "review.sqlite")
    for number in range(40):
        log.append(Action("set", "ab" * 32, "with/a.png", number % 2, 40, 60, f"0{number}l1"))
    log.close()
    return run / "review.sqlite"


def test_a_damaged_cache_is_made_again(stage, world, ledger):
    place, rng, lost = calm_run(stage, world), np.random.default_rng(0), 0
    wanted = read_outputs(place)
    for folder in ("features", "segments", "votes"):
        for path in (place.work / "out" / folder).glob("*.npz"):
            data = path.read_bytes()
            path.write_bytes(data[: int(rng.integers(len(data)))])
    shutil.rmtree(place.work / "out" / "masks")
    done = stage.run(*COMMANDS["annotate"](place))
    found = read_outputs(place)
    lost = done["code"] != 0 or found != wanted
    ledger.note("all cached segments, features and votes cut short", 1, int(lost))


def test_a_changed_name_in_the_log_is_noticed(world):
    path = write_log(world.copy_run())
    actions = read_actions(path)
    assert len(actions) == 40 and [row[0] for row in read_log(path)] == list(range(1, 41))
    flip_value(path)
    with pytest.raises(DamagedFileError, match=r"review\.sqlite"):
        read_actions(path)


def flip_value(path):
    """Another word in the mouth of a person, as a failing disk would put it: SQLite itself does not notice."""
    data = path.read_bytes()
    place = data.index(b"with/a.png")
    path.write_bytes(data[:place] + b"with/b.png" + data[place + 10 :])
