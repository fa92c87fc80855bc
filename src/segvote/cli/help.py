"""Help for a terminal of 80 columns: whole names, options in panels, research options on demand."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

# Shown by --help-all: for experiments, the defaults are those of the figures in the documentation.
RESEARCH = "Research"
HELP_ALL = "--help-all"
MIN_NAMES = 19  # characters of the column of names: panels stand below each other
KINDS = {int: "INT", float: "FLOAT"}


class Command(TyperCommand):
    """A command of typer with `HELP_ALL` and its own help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if HELP_ALL in args:
            print_help(self, ctx, with_research=True)
            ctx.exit()
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        print_help(self, ctx)


class CommandList(TyperGroup):
    """All commands, with help in the style of `Command`."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        print_help(self, ctx)


def print_help(command: Any, ctx: Any, with_research: bool = False) -> None:
    """Usage, description, options in panels, examples."""
    panels: dict[str, list[tuple[str, str, str]]] = {}  # rows of name, help, default
    for one in command.params:
        if with_research or not one.hidden:
            is_argument = one.param_type_name == "argument"
            panel = one.rich_help_panel or ("Arguments" if is_argument else "Options")
            name = one.metavar.strip("[]") if is_argument else format_names(one)
            panels.setdefault(panel, []).append((name, one.help or "", format_default(one)))
    if isinstance(command, TyperGroup):
        for name in command.list_commands(ctx):
            listed: Any = command.get_command(ctx, name)
            panels.setdefault(listed.rich_help_panel, []).append((name, listed.help.partition("\n")[0], ""))
    if any(is_research(one) for one in command.params):
        [*panels.values()][-1].append((HELP_ALL, "Show the options for experiments, too.", ""))
    console = Console(highlight=False)
    console.print(Text(command.get_usage(ctx), style="bold"), Text(inspect.cleandoc(command.help or "")), sep="\n\n")
    for name, rows in panels.items():
        console.print(Panel(make_table(rows), title=name, title_align="left", border_style="dim", padding=(0, 1)))
    if command.epilog:
        console.print(Text(inspect.cleandoc(command.epilog)))


def is_research(parameter: Any) -> bool:
    """Whether an option is for experiments and shown by ``--help-all`` only."""
    return bool(parameter.rich_help_panel == RESEARCH)


def format_names(option: Any) -> str:
    """``-o, --out PATH``; a switch as ``--[no-]strict`` if it can be switched off."""
    *short, long = sorted(option.opts, key=len)
    if option.is_flag:
        long = f"--[no-]{long.removeprefix('--')}" if option.secondary_opts else long
    else:
        long = f"{long} {option.metavar or KINDS.get(type(option.default), 'TEXT')}"
    return ", ".join([*short, long])


def format_default(parameter: Any) -> str:
    """The default of a parameter as the help shows it."""
    default = parameter.default
    if parameter.required:
        return "required"
    if isinstance(default, bool):
        return "on" if default else ""
    return f"{default:g}" if isinstance(default, float) else str(default) if default or default == 0 else ""


def make_table(rows: Sequence[tuple[str, str, str]]) -> Table:
    """Whole names in the first column, help and defaults in the second."""
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(width=max(MIN_NAMES, *(len(name) for name, _, _ in rows)))
    table.add_column(ratio=1)
    for name, meaning, default in rows:
        default_text = Text(f" [{default}]" if default else "", style="dim")
        table.add_row(Text(name, style="cyan"), Text(meaning) + default_text)
    return table
