"""The command line: one file per command; defaults come from the functions the commands call."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line; an error of segvote's own is one line on stderr and exit code 2."""
    from segvote.cli.app import run_app

    run_app()
