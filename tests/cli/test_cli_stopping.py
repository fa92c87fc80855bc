"""Ctrl-C is obeyed even where a library swallows it."""

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
    signal.signal(number, signal.SIG_DFL)  # whoever started the tests may have let the terminal go
    stopping.listen_for_stop()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)
    assert stopping.find_exit_code() == 128 + number


def test_a_terminal_that_may_go_is_let_go(listening):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stopping.listen_for_stop()
    os.kill(os.getpid(), signal.SIGHUP)
    stopping.check_stop()


def test_a_command_that_is_told_to_end_takes_its_workers_along():
    code = """
from segvote.cli.terminal import listen_for_stop
from segvote.steps.workers import Resources, run_on_all
import time
listen_for_stop()
for _ in run_on_all(time.sleep, [0, 0, 0, 60, 60, 60], Resources(2)):
    print(flush=True)
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.stdout.read()  # ends when the last of all who could write there has ended
    assert process.returncode != 0


STOPPED = "segvote: stopped; repeat the command to continue where it was\n"


def run_stopped(raised, after=""):
    """Exit code and errors of a command that is told to stop, and ends otherwise."""
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
    "error", ["ImportError('initialization failed')", "SystemExit(1)", "MissingPartError('no part')"]
)
def test_a_stop_that_a_library_turns_into_an_error_is_a_stop(error):
    assert run_stopped(f"raise {error}") == (130, STOPPED)


def test_a_stop_that_a_library_swallows_and_then_fails_is_a_stop():
    assert run_stopped("pass", "raise RuntimeError('half imported')") == (130, STOPPED)


def test_what_goes_wrong_after_a_stop_is_told():
    assert run_stopped("pass", "raise UnwritableFileError('no rights')") == (2, "segvote: no rights\n")
