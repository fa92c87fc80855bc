"""The application object, the list of commands, and what happens when one fails."""

from __future__ import annotations

import ast
import contextlib
import errno
import importlib
import importlib.resources
import io
import keyword
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

import typer
from typer.models import CommandInfo

from segvote import __version__
from segvote.cli.help import Command, CommandList
from segvote.cli.terminal import find_exit_code, listen_for_stop, was_asked
from segvote.errors import SegvoteError
from segvote.io.names import PERCENT
from segvote.plain_text import make_plain

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130
# Errors of a disk that is full, gone or read-only; any other is a bug and keeps its traceback.
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}

FIRST_STEPS = """\
Two folders to masks: segments of images with and without an object vote on which of them are the object.

First
  segvote demo                               see it work, on scenes it makes itself
  segvote doctor WITH/ WITHOUT/              your own two folders: is any image in the wrong one?
  segvote annotate WITH/ WITHOUT/ -o out/    masks, heat maps, a COCO file and a report

Then
  segvote review out/                        click what is wrong, everything votes again
  segvote export out/ --format yolo          take the masks along

  segvote --help                             all commands; segvote COMMAND --help has examples
  segvote info                               versions, paths, what is installed
"""

app = typer.Typer(
    name="segvote",
    cls=CommandList,
    help="Two folders to masks: segments of images with and without an object vote on which of them are the object.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

# One module per command; each adds itself to `app`. Help lists them in this order.
PANELS = {
    "Two folders to masks": ("annotate", "extent", "update", "review", "predict"),
    "Why, and what is wrong": ("explain", "doctor"),
    "Other tools": ("export", "import"),
    "How well": ("evaluate", "compare", "benchmark"),
    "To begin with": ("demo", "info"),
}
COMMANDS = tuple(sorted(name for names in PANELS.values() for name in names))


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
        typer.echo(f"segvote {__version__}")
        raise typer.Exit()
    if context.invoked_subcommand is None:
        typer.echo(FIRST_STEPS, nl=False)


def load_commands(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Import commands, which register themselves; all others are listed with name and summary only."""
    for name in names:
        importlib.import_module(name_module(name))
    loaded = {get_name(command) for command in app.registered_commands}
    for name in COMMANDS:
        if name not in loaded:
            app.command(name, help=read_summary(name))(lambda: None)
    arrange_commands()
    return app


def name_module(name: str) -> str:
    """Module of a command; `import` is a keyword of Python and gets an underscore."""
    return f"segvote.cli.{name}{'_' * keyword.iskeyword(name)}"


def read_summary(name: str) -> str:
    """First line of a command's help, from the text of its module: importing all of them takes a second."""
    source = importlib.resources.files("segvote.cli").joinpath(f"{name_module(name).rpartition('.')[2]}.py")
    command = next(node for node in ast.parse(source.read_text()).body if isinstance(node, ast.FunctionDef))
    return (ast.get_docstring(command) or "").partition("\n")[0]


def arrange_commands() -> None:
    """Put the commands into the order and the panels of `PANELS`."""
    panels = {name: panel for panel, names in PANELS.items() for name in names}
    for command in app.registered_commands:
        command.rich_help_panel, command.cls = panels[get_name(command)], Command
    app.registered_commands.sort(key=lambda command: list(panels).index(get_name(command)))


def get_name(command: CommandInfo) -> str:
    """What a user types for a command."""
    return command.name or command.callback.__name__  # type: ignore[union-attr]


def choose_commands(arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """The commands that a call needs: loading all of them takes seconds, too long for a completion."""
    if "_SEGVOTE_COMPLETE" in environment:  # the shell asks; its words come in a variable
        words = environment.get("_TYPER_COMPLETE_ARGS") or environment.get("COMP_WORDS", "")
        arguments = words.split()[1:]
    return (arguments[0],) if arguments and arguments[0] in COMMANDS else ()


def _leave_output() -> None:
    """Discard pending output: Python would fail to write it once more at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run_app() -> None:
    """Run with the arguments of the process."""
    listen_for_stop()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=PERCENT)  # names of files that are no UTF-8 are shown all the same
    try:
        load_commands(choose_commands(sys.argv[1:], os.environ))()
    except BaseException as error:
        if is_stop(error):
            print("segvote: stopped; repeat the command to continue where it was", file=sys.stderr)
            sys.exit(find_exit_code())
        explain_error(error)
        raise


def is_stop(error: BaseException) -> bool:
    """Whether a command ended because a stop was requested.

    Libraries turn an interruption into errors of their own: those of compiled code, being imported, into ImportError.
    What went wrong after the stop, such as sending corrections to a store, is reported as such.
    """
    if isinstance(error, SystemExit):  # typer turns Ctrl-C into the exit code that shells know it by
        return error.code == EXIT_INTERRUPTED or (was_asked() and error.code not in (None, 0))
    if any(isinstance(one, KeyboardInterrupt) for one in _list_causes(error)):
        return True
    return was_asked() and not isinstance(error, SegvoteError | OSError)


def _list_causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, what it was raised from, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def explain_error(error: BaseException) -> None:
    """Exit with one line for an error that the user can fix; any other is a bug and keeps its traceback."""
    if isinstance(error, SegvoteError):
        print(f"segvote: {make_plain(error)}", file=sys.stderr)
        sys.exit(EXIT_BAD_INPUT)
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        _leave_output()
        where = error.filename or "the output of this command, or a temporary file"
        print(f"segvote: cannot write {make_plain(where)} ({error.strerror}); make room, then repeat", file=sys.stderr)
        sys.exit(EXIT_BAD_INPUT)
