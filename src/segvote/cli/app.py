"""The application object, the list of commands, and what happens when one fails."""

from __future__ import annotations

import importlib
import keyword
import sys

import typer

from segvote import __version__
from segvote.errors import SegvoteError

__all__ = ["app", "run_app"]

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130

FIRST_STEPS = """\
Two folders to masks. First steps:

  segvote demo                                  the whole story on scenes it makes itself
  segvote annotate WITH/ WITHOUT/ -o out/       your own two folders
  segvote --help                                everything else
"""

app = typer.Typer(
    name="segvote",
    help="Two folders to masks: segments of images with and without a thing vote on which of them are the thing.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

# One module per command; each adds itself to `app`.
COMMANDS = (
    "annotate",
    "benchmark",
    "compare",
    "demo",
    "doctor",
    "evaluate",
    "explain",
    "export",
    "import",
    "predict",
    "review",
)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    """Two folders to masks."""
    if version:
        typer.echo(f"segvote {__version__}")
        raise typer.Exit()
    if context.invoked_subcommand is None:
        typer.echo(FIRST_STEPS)


def load_commands() -> typer.Typer:
    for name in COMMANDS:
        # `import` is a word of Python, which a module cannot be called.
        importlib.import_module(f"segvote.cli.{name}{'_' * keyword.iskeyword(name)}")
    return app


def run_app() -> None:
    """Run with the arguments of the process."""
    try:
        load_commands()()
    except SegvoteError as error:
        print(f"segvote: {error}", file=sys.stderr)
        sys.exit(EXIT_BAD_INPUT)
    except (KeyboardInterrupt, SystemExit) as stop:
        # typer turns Ctrl-C into the exit code that shells know it by.
        if isinstance(stop, SystemExit) and stop.code != EXIT_INTERRUPTED:
            raise
        print("segvote: stopped; repeat the command to continue where it was", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)
