"""Stop signals end a command even where a library swallows them."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from segvote.cli import terminal as stopping
from segvote.cli.terminal import show_progress


@pytest.fixture
def listening():
    before = {number: signal.getsignal(number) for number in stopping.SIGNALS}
    stopping.listen_for_stop()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    stopping._asked.clear()


def test_a_swallowed_interruption_is_raised_at_progress(listening):
    with show_progress() as progress:
        progress("step", 0, 2)
        with contextlib.suppress(KeyboardInterrupt):  # as a careless library would
            os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            progress("step", 1, 2)


@pytest.mark.parametrize("number", stopping.SIGNALS)
def test_every_stop_signal_has_its_exit_code(listening, number):
    signal.signal(number, signal.SIG_DFL)  # it may be ignored where the tests were started
    stopping.listen_for_stop()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)
    assert stopping.find_exit_code() == 128 + number


def test_an_ignored_hangup_stays_ignored(listening):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stopping.listen_for_stop()
    os.kill(os.getpid(), signal.SIGHUP)
    stopping.check_stop()


def test_a_terminated_command_ends_its_workers():
    code = """
from segvote.cli.terminal import listen_for_stop
from segvote.pipeline.workers import Resources, run_on_all
import time
listen_for_stop()
for _ in run_on_all(time.sleep, [0, 0, 0, 60, 60, 60], Resources(2)):
    print(flush=True)
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.stdout.read()  # ends with the last process that could write there
    assert process.returncode != 0


STOPPED = "segvote: stopped; repeat the command to continue where it was\n"


def run_stopped(raised, after=""):
    """Exit code and errors of a command that is stopped, and ends with another error."""
    code = f"""
import os, signal
from segvote.cli import app
from segvote.errors import MissingPartError, UnwritableFileError
def command():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        {raised}
    {after}
app.load_commands = lambda names: command
app.run_app()
"""
    done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "ends",
    [
        ("raise ImportError('initialization failed')",),
        ("raise MissingPartError('no part')",),
        ("pass", "raise RuntimeError('half imported')"),
    ],
)
def test_a_stop_that_a_library_hides_is_a_stop(ends):
    assert run_stopped(*ends) == (130, STOPPED)


def test_an_error_after_a_stop_is_reported():
    assert run_stopped("pass", "raise UnwritableFileError('no rights')") == (2, "segvote: no rights\n")
