"""The application object, the list of commands, and the handling of their errors."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import keyword
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer
from typer.models import CommandInfo

from segvote import __version__
from segvote.cli.help import Command, CommandList
from segvote.cli.terminal import find_exit_code, listen_for_stop, was_asked
from segvote.errors import SegvoteError
from segvote.io.names import PERCENT, make_plain

EXIT_BAD_INPUT = 2
EXIT_PARTIAL = 3  # files were written, but some images are left out of them
EXIT_INTERRUPTED = 130
# Errors of a disk that is full, gone or read-only; any other is a bug and keeps its traceback.
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}

FIRST_STEPS = """\
Two folders to masks: segments of images with and without an object vote on which of them are the object.

First
  segvote demo                               see it work, on synthetic scenes
  segvote doctor WITH/ WITHOUT/              your own two folders: is any image in the wrong one?
  segvote annotate WITH/ WITHOUT/ -o out/    masks, heat maps, a COCO file and a report

Then
  segvote review out/                        correct masks; finished images teach the others
  segvote export out/ --format yolo          use the masks in another tool

  segvote --help                             all commands; segvote COMMAND --help has examples
  segvote info                               versions, missing extras, names of parts
"""

app = typer.Typer(
    name="segvote",
    cls=CommandList,
    help=FIRST_STEPS.partition("\n")[0],
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

# One module per command, which registers itself with `app`. Help lists them in this order.
PANELS = {
    "Two folders to masks": ("annotate", "choose", "extent", "update", "review", "predict"),
    "Explanations and errors": ("explain", "doctor"),
    "Other tools": ("export", "import", "measure"),
    "Evaluation": ("evaluate", "compare", "benchmark"),
    "First steps": ("demo", "info"),
}
COMMANDS = tuple(name for names in PANELS.values() for name in names)


def format_examples(*commands: str) -> str:
    """The last lines of a command's help: two or more commands to type."""
    # The empty line keeps the indentation: typer takes away what all lines after the first have in common.
    return "\nExamples:\n" + "\n".join(f"  {command}" for command in commands)


@app.callback(invoke_without_command=True, epilog=format_examples("segvote demo", "segvote annotate --help"))
def start(
    context: typer.Context, version: bool = typer.Option(False, "--version", help="Print the version and stop.")
) -> None:
    """Two folders to masks."""
    if version:
        print_version()
        raise typer.Exit()
    if context.invoked_subcommand is None:
        typer.echo(FIRST_STEPS, nl=False)


def print_version() -> None:
    """What ``--version`` prints."""
    typer.echo(f"segvote {__version__}")


def load_commands(names: Sequence[str] = COMMANDS) -> typer.Typer:
    """Import commands, which register themselves, and put them into the order and the panels of `PANELS`."""
    for name in names:
        importlib.import_module(f"segvote.cli.{name_function(name)}")
    return arrange_commands()


def arrange_commands() -> typer.Typer:
    """Put the registered commands into the order and the panels of `PANELS`."""
    panels = {name: panel for panel, names in PANELS.items() for name in names}
    for command in app.registered_commands:
        command.rich_help_panel, command.cls = panels[get_name(command)], Command
    app.registered_commands.sort(key=lambda command: COMMANDS.index(get_name(command)))
    return app


def name_function(name: str) -> str:
    """The function of a command, and its module: `import` is a keyword of Python and gets an underscore."""
    return f"{name}{'_' * keyword.iskeyword(name)}"


def outline_commands() -> typer.Typer:
    """Register every command with the first line of its help alone, without an import, for the list of commands."""
    for name in COMMANDS:
        app.command(name, help=read_summary(name))(lambda: None)
    return arrange_commands()


def read_summary(name: str) -> str:
    """The first line of a command's help, from its source."""
    function = name_function(name)
    source = Path(__file__).with_name(f"{function}.py").read_text("utf-8")
    found = re.search(rf'^def {function}\(.*?"""(.*?)("""|\n)', source, re.M | re.S)
    assert found is not None, f"{function} has no docstring"
    return found[1]


def get_name(command: CommandInfo) -> str:
    """The name of a command on the command line."""
    return command.name or command.callback.__name__  # type: ignore[union-attr]


def choose_commands(arguments: Sequence[str], environment: Mapping[str, str]) -> Sequence[str]:
    """The commands that a call needs; loading all of them takes more than half a second."""
    if "_SEGVOTE_COMPLETE" in environment:  # a completion: the shell passes the words in a variable
        words = environment.get("_TYPER_COMPLETE_ARGS") or environment.get("COMP_WORDS", "")
        arguments = words.split()[1:]
    elif not arguments or arguments[0] == "--version":
        return ()
    return arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS


def run_app() -> None:
    """Run with the arguments of the process."""
    listen_for_stop()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=PERCENT)  # file names that are not UTF-8 can be printed
    try:
        arguments = sys.argv[1:]
        if arguments == ["--version"]:  # typer would import pydantic to read the option
            return print_version()
        is_list = arguments in (["--help"], ["-h"])
        (outline_commands() if is_list else load_commands(choose_commands(arguments, os.environ)))()
    except BaseException as error:
        if is_stop(error):
            print("segvote: stopped; repeat the command to continue where it was", file=sys.stderr)
            sys.exit(find_exit_code())
        explain_error(error)
        raise


def is_stop(error: BaseException) -> bool:
    """Whether a command ended because a stop was requested.

    Libraries turn an interruption into errors of their own: compiled code that is being imported, into ImportError.
    An error after the stop, such as sending corrections to a store, is reported as such.
    """
    if isinstance(error, SystemExit):  # typer turns Ctrl-C into the exit code that shells know it by
        return error.code == EXIT_INTERRUPTED or (was_asked() and error.code not in (None, 0))
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            return True
        cause = cause.__cause__ or cause.__context__
    return was_asked() and not isinstance(error, SegvoteError | OSError)


def explain_error(error: BaseException) -> None:
    """Exit with one line for an error that the user can fix; any other is a bug and keeps its traceback."""
    if isinstance(error, SegvoteError):
        print(f"segvote: {make_plain(error)}", file=sys.stderr)
        sys.exit(EXIT_BAD_INPUT)
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        with contextlib.suppress(OSError, ValueError):  # discard pending output, which Python would write at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        where = error.filename or "the output of this command, or a temporary file"
        print(f"segvote: cannot write {make_plain(where)} ({error.strerror}); make room, then repeat", file=sys.stderr)
        sys.exit(EXIT_BAD_INPUT)
