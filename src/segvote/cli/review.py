"""`segvote review`: the page in the browser."""

from __future__ import annotations

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.options import RUN
from segvote.cli.terminal import check_stop


@app.command(epilog=format_examples("segvote review out", "segvote review out --port 8765 --no-browser"))
def review(
    run_folder: str = RUN,
    port: int = typer.Option(0, min=0, max=65535, help="Port on 127.0.0.1; 0: any free port."),
    browser: bool = typer.Option(True, help="Open the page in the browser."),
) -> None:
    """Look at the masks in the browser and correct them; finished images teach the others."""
    from segvote import api

    api.open_review(run_folder, port, browser)
    check_stop()
