"""A command in this process: for tests of what it says, not of the process, whose start costs a second."""

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock

from segvote.cli import app


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def call(*arguments):
    """`segvote ARGUMENTS` on a wide terminal, with the exit code that a shell would see."""
    # A process loads the command it is called for; here, the next test may call another.
    app.load_commands()
    with (
        mock.patch.object(sys, "argv", ["segvote", *map(str, arguments)]),
        mock.patch.dict(os.environ, COLUMNS="200"),
        mock.patch.object(app, "listen_for_stop"),  # Ctrl-C stays with pytest
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as err,
    ):
        code = _run()
    return Done(code, out.getvalue(), err.getvalue())


def _run():
    try:
        app.run_app()
    except SystemExit as stop:
        return stop.code or 0
    return 0
