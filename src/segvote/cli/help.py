"""A command whose help fits a terminal of 80 columns: names whole, options in panels, research options on demand."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from segvote.cli.options import RESEARCH

HELP_ALL = "--help-all"
MIN_NAMES = 19  # characters of the column of names: panels stand below each other
KINDS = {int: "INT", float: "FLOAT"}


class Command(TyperCommand):
    """A command as typer makes it, with `HELP_ALL` and its own help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if HELP_ALL in args:
            print_help(self, ctx, with_research=True)
            ctx.exit()
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        print_help(self, ctx)


class CommandList(TyperGroup):
    """All commands, with a help in the style of theirs."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        print_help(self, ctx)


def print_help(command: Any, ctx: Any, with_research: bool = False) -> None:
    """Usage, what it does, its options in panels, examples."""
    panels = group_parameters(command.params, with_research)
    for name in command.list_commands(ctx) if isinstance(command, TyperGroup) else ():
        one = command.get_command(ctx, name)
        panels.setdefault(one.rich_help_panel, []).append((name, (one.help or "").partition("\n")[0], ""))
    rows = panels.setdefault("Options", []) if isinstance(command, TyperGroup) or not panels else [*panels.values()][-1]
    if any(is_research(one) for one in command.params):
        rows.append((HELP_ALL, "Show the options for experiments, too.", ""))
    console = Console(highlight=False)
    console.print(Text(command.get_usage(ctx), style="bold"), Text(inspect.cleandoc(command.help or "")), sep="\n\n")
    for name, rows in panels.items():
        console.print(Panel(make_table(rows), title=name, title_align="left", border_style="dim", padding=(0, 1)))
    if command.epilog:
        console.print(Text(inspect.cleandoc(command.epilog)))


def is_research(parameter: Any) -> bool:
    """Whether an option is for experiments and shown by ``--help-all`` only."""
    return getattr(parameter, "rich_help_panel", None) == RESEARCH


def group_parameters(parameters: Iterable[Any], with_research: bool) -> dict[str, list[tuple[str, str, str]]]:
    """Panel to its rows: name, meaning, default."""
    panels: dict[str, list[tuple[str, str, str]]] = {}
    for one in parameters:
        if getattr(one, "hidden", False) and not (with_research and is_research(one)):
            continue
        is_argument = one.param_type_name == "argument"
        panel = getattr(one, "rich_help_panel", None) or ("Arguments" if is_argument else "Options")
        name = one.metavar.strip("[]") if is_argument else format_names(one)
        panels.setdefault(panel, []).append((name, one.help or "", format_default(one)))
    return panels


def format_names(option: Any) -> str:
    """``-o, --out PATH``; a switch as ``--[no-]strict`` if it can be switched off."""
    long = option.opts[0] if option.opts[0].startswith("--") else option.opts[-1]
    short = next((f"{name}, " for name in option.opts if not name.startswith("--")), "")
    if option.is_flag:
        return short + (f"--[no-]{long.removeprefix('--')}" if option.secondary_opts else long)
    return f"{short}{long} {option.metavar or KINDS.get(type(option.default), 'TEXT')}"


def format_default(parameter: Any) -> str:
    """The default of a parameter as the help shows it."""
    if parameter.required:
        return "required"
    default = parameter.default
    if getattr(parameter, "is_flag", False):
        return "on" if default is True else ""
    return f"{default:g}" if isinstance(default, float) else str(default) if default or default == 0 else ""


def make_table(rows: Sequence[tuple[str, str, str]]) -> Table:
    """Names whole, and what they mean beside them."""
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(width=max(MIN_NAMES, *(len(name) for name, _, _ in rows)))
    table.add_column(ratio=1)
    for name, meaning, default in rows:
        text = Text(meaning)
        if default:
            text.append(f" [{default}]", style="dim")
        table.add_row(Text(name, style="cyan"), text)
    return table
