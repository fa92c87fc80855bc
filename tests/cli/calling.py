"""Run a command in this process: starting another takes a second."""

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


def call(*arguments, columns=200):
    """`segvote ARGUMENTS` on a terminal of so many columns, with the exit code that a shell would see."""
    app.load_commands()  # a process loads its command only; here, the next test may call another
    with (
        mock.patch.object(sys, "argv", ["segvote", *map(str, arguments)]),
        mock.patch.dict(os.environ, COLUMNS=str(columns)),
        mock.patch.object(app, "listen_for_stop"),  # Ctrl-C stays with pytest
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as err,
    ):
        try:
            app.run_app()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
    return Done(code, out.getvalue(), err.getvalue())
