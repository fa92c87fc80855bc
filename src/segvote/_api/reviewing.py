"""The review page, opened from Python."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path

from segvote.review.serving.server import open_browser, serve
from segvote.run.run import Run


def open_review(run: Run | Path | str, port: int = 0, browser: bool = True) -> None:
    """Look at the masks in the browser and correct them, until interrupted: Ctrl-C, or the stop button of a notebook.

    Parameters
    ----------
    run : Run, path or str
        A run, or its folder.
    port : int
        Where to listen on 127.0.0.1; 0: any free port.
    browser : bool
        Open the page; otherwise its address is printed alone.

    Examples
    --------
    >>> import segvote
    >>> segvote.open_review("out")  # doctest: +SKIP
    review   http://127.0.0.1:41217/…/

    A folder that no run was written to is refused:

    >>> segvote.open_review("nowhere")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    segvote.errors.BadInputError: nowhere is not a run folder
    """
    folder = run.folder.path if isinstance(run, Run) else Path(run)
    opened = ExitStack()

    def announce(address: str) -> None:
        print(f"review   {address}")
        if browser:
            opened.enter_context(open_browser(address))

    with opened, suppress(KeyboardInterrupt):
        serve(folder, port, announce)
