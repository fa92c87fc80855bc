"""Workers of Dask on this machine: whoever asked them is killed, or one of them is; nothing is lost, nobody stays."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from commands import COMMANDS, World
from test_accidents import calm_run, read_results

pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]

MARK = "SEGVOTE_TRUST_MARK"


def start(world, mark):
    """`annotate --workers 2`; every process of it carries the mark in its environment."""
    arguments = [str(one) for one in COMMANDS["annotate"](world)]
    place = arguments.index("--jobs")
    command = [sys.executable, "-m", "segvote", *arguments[:place], *arguments[place + 2 :], "--workers", "2"]
    return subprocess.Popen(
        command, env={**os.environ, MARK: mark}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def list_marked(mark):
    """Process ids that carry the mark, the oldest first."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdecimal() and f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return sorted(found)


def wait_until(condition, seconds):
    limit = time.monotonic() + seconds
    while not condition() and time.monotonic() < limit:
        time.sleep(0.1)
    return condition()


def run_to_the_end(world, mark):
    process = start(world, mark)
    errors = process.communicate(timeout=1200)[1]
    if process.returncode:
        print(errors)
    return process.returncode == 0


def test_a_killed_client_loses_nothing_and_leaves_no_worker(stage, world, ledger):
    place, rng, lost, n_kills = World(world.scenes, world.run, world.work), random.Random(0), 0, 5
    wanted = read_results(calm_run(stage, world))
    for number in range(n_kills):
        mark = f"{os.getpid()}-{number}"
        process = start(place, mark)
        wait_until(lambda mark=mark: len(list_marked(mark)) > 2, 600)
        time.sleep(rng.uniform(0, 6))
        process.kill()
        process.communicate()
        lost += not wait_until(lambda mark=mark: not list_marked(mark), 600)
    lost += not run_to_the_end(place, f"{os.getpid()}-last") or read_results(place) != wanted
    ledger.note("`annotate --workers 2` killed (SIGKILL), repeated; no worker stays", n_kills, lost)


def test_a_killed_worker_of_dask_changes_nothing(stage, world, ledger):
    rng, lost, n_kills = random.Random(1), 0, 3
    wanted = read_results(calm_run(stage, world))
    for number in range(n_kills):
        place, mark = World(world.scenes, world.run, world.work / f"worker{number}"), f"{os.getpid()}-w{number}"
        place.work.mkdir()
        process = start(place, mark)
        wait_until(lambda place=place: any((place.work / "out" / "segments").glob("*.npz")), 600)
        time.sleep(rng.uniform(0, 0.5))
        for worker in list_marked(mark)[-1:]:
            if worker != process.pid:
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
        errors = process.communicate(timeout=1200)[1]
        good = process.returncode == 0 and read_results(place) == wanted
        if not good:
            print(process.returncode, errors)
        lost += not good
    ledger.note("a worker of `annotate --workers 2` killed (SIGKILL)", n_kills, lost)
