"""Options of commands: their panels in the help, choices that complete in the shell.

An option is one call of `option` or `research` in the signature of its command. Its default is read from what the
command calls; the order of a panel is that of the signature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import typer

from segvote.errors import UnknownNameError

INPUT, METHOD, OUTPUT, SCALE = "Input", "Method", "Output", "Scale"
# Shown by --help-all: for experiments, the defaults are what the figures of the documentation were measured with.
RESEARCH = "Research"


def option(default: Any, *names: str, panel: str, help: str, **more: Any) -> Any:
    """An option of a panel; more keywords are those of `typer.Option`."""
    return typer.Option(default, *names, rich_help_panel=panel, help=help, **more)


def research(default: Any, *names: str, help: str, **more: Any) -> Any:
    """An option that only ``--help-all`` shows."""
    return option(default, *names, panel=RESEARCH, help=help, hidden=True, **more)


SCHEDULER = option(None, panel=SCALE, metavar="ADDRESS", help="Instead of --jobs: a Dask scheduler, tcp://host:8786.")


def voter_option(help: str) -> Any:
    """``--voter-option NAME=VALUE``, any number of times; see `segvote.voters.options`."""
    return research(None, "--voter-option", metavar="NAME=VALUE", help=help)


def choice(known: Iterable[str], kind: str) -> dict[str, Any]:
    """Keywords of an option that takes one of some names: the shell completes them, an unknown one lists them."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in known:
            raise UnknownNameError(f"unknown {kind} {value!r}; the known ones are: {', '.join(known)}")
        return value

    return {"metavar": "NAME", "callback": check, "autocompletion": make_completion(known)}


def make_completion(known: Iterable[str]) -> Callable[[str], list[str]]:
    """What the shell asks: the names that begin as the word does."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return complete
