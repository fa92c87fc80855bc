"""`segvote review`: the page in the browser."""

from __future__ import annotations

from contextlib import ExitStack

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.paths import RUN, PathOrUri


@app.command(epilog=format_examples("segvote review out", "segvote review out --port 8765 --no-browser"))
def review(
    run_folder: PathOrUri = RUN,
    port: int = typer.Option(0, min=0, max=65535, help="Where to listen on 127.0.0.1; 0: any free port."),
    browser: bool = typer.Option(True, help="Open the page in the browser."),
) -> None:
    """Look at the masks in the browser, click what is wrong, watch everything vote again."""
    from segvote.review.serving.server import open_browser, serve
    from segvote.run.run import open_run

    opened = ExitStack()

    def announce(address: str) -> None:
        typer.echo(f"review   {address}")
        typer.echo("corrections are saved at once; stop with Ctrl-C")
        if browser:
            opened.enter_context(open_browser(address))

    stop: KeyboardInterrupt | None = None
    with opened, open_run(run_folder) as folder:
        try:
            serve(folder, port, announce)
        except KeyboardInterrupt as asked:  # the usual way to end: corrections still go to the run's store
            stop = asked
    if stop is not None:
        raise stop
