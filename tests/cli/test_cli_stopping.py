"""Ctrl-C is obeyed even where a library swallows it."""

import contextlib
import os
import signal

import pytest

from segvote.cli import stopping
from segvote.cli.progress import show_progress


@pytest.fixture
def listening():
    before = signal.getsignal(signal.SIGINT)
    stopping.listen_for_stop()
    yield
    signal.signal(signal.SIGINT, before)
    stopping._asked.clear()


def test_a_swallowed_interruption_is_raised_at_the_next_sign_of_progress(listening):
    with show_progress() as progress:
        progress("step", 0, 2)
        with contextlib.suppress(KeyboardInterrupt):  # as a careless library would
            os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            progress("step", 1, 2)


def test_a_new_command_starts_afresh(listening):
    with contextlib.suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    stopping.listen_for_stop()
    stopping.check_stop()
