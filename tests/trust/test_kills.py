"""Killed at any moment, a command that is repeated ends as if nothing had happened."""

import contextlib
import os
import random
import re
import signal
import threading
import time
from contextlib import closing
from http.client import HTTPConnection, HTTPException

import pytest
from commands import COMMANDS, LONG_COMMANDS, World, read_log, read_outputs

from segvote.io.arrays import read_arrays
from segvote.io.tables import read_json

EVERY_COMMAND = sorted(COMMANDS)


def make_world(like, name):
    (like.work / name).mkdir()
    return World(like.scenes, like.run, like.work / name)


def kill_and_repeat(stage, world, command, n_kills, seed):
    """Half of the kills at a moment counted in files, half at any time; returns how many ended otherwise than calm."""
    calm, rng = make_world(world, "calm"), random.Random(f"{command} {seed}")
    first = stage.run(*LONG_COMMANDS[command](calm))
    assert first["code"] == 0, first["errors"]
    killed, lost = make_world(world, "killed"), 0
    for number in range(n_kills):
        if number % 2:
            kill_at_moment(stage, LONG_COMMANDS[command](killed), rng.randrange(max(1, first["moments"])))
        else:
            kill_at_time(stage, LONG_COMMANDS[command](killed), rng.uniform(0, first["seconds"]))
        lost += not all_files_are_whole(killed)
    last = stage.run(*LONG_COMMANDS[command](killed))
    assert last["code"] == 0, last["errors"]
    return lost + (read_outputs(killed) != read_outputs(calm))


def kill_at_moment(stage, arguments, moment):
    # A command that goes on where it was may be done before its moment comes.
    assert stage.run(*arguments, kind="kill", moment=moment)["code"] in (0, -signal.SIGKILL)


def kill_at_time(stage, arguments, seconds):
    started = stage.start(*arguments)
    time.sleep(seconds)
    os.kill(started["pid"], signal.SIGKILL)
    assert stage.wait(started)["code"] in (0, -signal.SIGKILL)


def all_files_are_whole(world):
    """What has a name of its own can be read to the end, whenever the process died."""
    for path in (world.work / "out").rglob("*"):
        if path.name.startswith(".tmp-"):
            continue
        if path.suffix == ".json":
            read_json(path)
        elif path.suffix == ".npz":
            read_arrays(path)
    return True


@pytest.mark.parametrize("n_kills", [2, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("command", sorted(LONG_COMMANDS))
def test_kills_change_nothing(stage, world, ledger, command, n_kills):
    lost = kill_and_repeat(stage, world, command, n_kills, seed=n_kills)
    ledger.note(f"`{command}` killed (SIGKILL), repeated", n_kills, lost)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["annotate", "predict"])
def test_an_early_kill_locks_nobody_out(stage, world, ledger, command):
    place, n_moments = make_world(world, "early"), 14
    for moment in range(n_moments):
        kill_at_moment(stage, COMMANDS[command](place), moment)
    lost = stage.run(*COMMANDS[command](place))["code"] != 0
    ledger.note(
        f"`{command}` killed (SIGKILL) at each of its first {n_moments} moments, repeated", n_moments, int(lost)
    )


class Page:
    """A page that clicks until its server is gone, and remembers what it was promised."""

    def __init__(self, address):
        host, self.token = re.fullmatch(r"http://(.*)/(.*)/", address).groups()
        self.host, self.promised = host, []

    def click(self):
        limit = time.monotonic() + 600
        # The address is printed a moment before anybody listens there.
        while not self.promised and time.monotonic() < limit:
            with closing(HTTPConnection(self.host, timeout=600)) as connection:
                self._click_on(connection)
            time.sleep(0.01)

    def _click_on(self, connection):
        headers = {
            "Origin": f"http://{self.host}",
            "Content-Type": "application/json",
        }
        for number in range(10_000):
            body = f'{{"bag": {number % 6}, "segments": [{number % 2}], "value": {number % 3 - 1}}}'
            try:
                connection.request("POST", f"/{self.token}/api/set", body, headers)
                answer = connection.getresponse()
                self.promised.append(answer.read())
                assert answer.status == 200
            except (OSError, HTTPException):
                return

    def export(self):
        """Have the files of the run written, again and again, until the server is gone."""
        headers = {"Origin": f"http://{self.host}", "Content-Type": "application/json"}
        with contextlib.suppress(OSError, HTTPException), closing(HTTPConnection(self.host, timeout=600)) as connection:
            while True:
                connection.request("POST", f"/{self.token}/api/export", "{}", headers)
                connection.getresponse().read()


def kill_review(stage, run, seconds, exports):
    """Numbers of the clicks that were answered before the server was killed."""
    started = stage.start("review", run, "--no-browser")
    page = Page(wait_for_address(started))
    threads = [threading.Thread(target=page.click), threading.Thread(target=page.export)][: 1 + exports]
    threads[0].start()
    while not page.promised and threads[0].is_alive():
        time.sleep(0.002)
    for thread in threads[1:]:
        thread.start()
    time.sleep(seconds)
    os.kill(started["pid"], signal.SIGKILL)
    for thread in threads:
        thread.join()
    stage.wait(started)
    return [int(re.search(rb'"action":\s*(\d+)', answer).group(1)) for answer in page.promised]


def wait_for_address(started):
    limit = time.monotonic() + 600
    while time.monotonic() < limit:
        with open(started["output"]) as file:
            if found := re.search(r"http://\S+", file.read()):
                return found.group()
        time.sleep(0.01)
    raise AssertionError("the server did not start")


@pytest.mark.parametrize("exports", [False, True])
@pytest.mark.parametrize("n_kills", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_no_answered_click_is_lost_in_a_kill(stage, world, ledger, n_kills, exports):
    rng, run, promised = random.Random(n_kills), world.copy_run(), []
    for _ in range(n_kills):
        promised += kill_review(stage, run, rng.uniform(0.0, 0.4 + 2 * exports), exports)
        # Killed while it wrote files, the run is half written: this finishes it.
        assert stage.run("update", run, "--jobs", "1")["code"] == 0
    kept = {row[0] for row in read_log(run / "review.sqlite")}
    while_exporting = " while it wrote files" if exports else ""
    lost = sum(number not in kept for number in promised)
    assert promised
    ledger.note(f"clicks answered by `review` before it was killed{while_exporting}", len(promised), lost)
    ledger.note(f"`review` killed (SIGKILL) while clicks come{while_exporting}", n_kills)
