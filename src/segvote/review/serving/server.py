"""Listening on this machine only: a socket, a token, an address, and the browser that shows it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from segvote.errors import BadInputError, MissingPartError
from segvote.run.classes import ClassRuns, open_any_run
from segvote.run.run import Run

HOST = "127.0.0.1"


def serve(folder: Path | str, port: int = 0, announce: Callable[[str], None] = print) -> None:
    """Show a run in the browser until interrupted.

    Parameters
    ----------
    folder : path or str
        Run folder of `segvote annotate`.
    port : int
        Where to listen on 127.0.0.1; 0: any free port.
    announce : callable
        Called once with the address, when the server listens.
    """
    with open_server(open_any_run(folder), port) as (server, listener, address):
        announce(address)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            server.run(sockets=[listener])
        else:  # the kernel of a notebook, which allows no second event loop in its thread
            with ThreadPoolExecutor(1, "segvote-review") as thread:
                try:
                    thread.submit(server.run, sockets=[listener]).result()
                finally:
                    server.should_exit = True


@contextlib.contextmanager
def open_server(run: Run | ClassRuns, port: int = 0) -> Iterator[tuple[Any, socket.socket, str]]:
    """A uvicorn server that is not running yet, the socket it is to use, and the address with the token."""
    uvicorn = _import_web()
    from segvote.review.serving.connections import LimitedProtocol

    with _listen(port) as listener:
        app, token, sessions = make_guarded_app(run)

        class Server(uvicorn.Server):  # type: ignore[name-defined]
            """Lets the open event streams end by themselves before it closes the connections."""

            async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
                for session in sessions:
                    session.close_streams()
                await super().shutdown(sockets)

        config = uvicorn.Config(
            app,
            log_level="error",
            access_log=False,  # it would print the token
            lifespan="off",
            http=LimitedProtocol,
            ws="none",
            timeout_graceful_shutdown=1,
            server_header=False,
        )
        try:
            yield Server(config), listener, f"http://{HOST}:{listener.getsockname()[1]}/{token}/"
        finally:
            for session in sessions:
                session.close()


def make_guarded_app(run: Run | ClassRuns) -> tuple[Any, str, list[Any]]:
    """The application, its token, and the sessions behind it: one, whose engine is at work, or one per class."""
    _import_web()
    from segvote.review.serving.guard import Guard
    from segvote.review.serving.routes import make_app, make_class_app, open_classes
    from segvote.review.session import Session

    token = secrets.token_urlsafe(32)
    if isinstance(run, ClassRuns):
        sessions = open_classes(run)
        return Guard(make_class_app(sessions), token), token, sessions
    session = Session(run)
    session.engine.start()
    return Guard(make_app(session), token), token, [session]


def _import_web() -> Any:
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise MissingPartError(
            f"the review page needs {error.name}; install it with: pip install 'segvote[web]'"
        ) from error
    return uvicorn


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port), backlog=512)
    except OSError as error:
        raise BadInputError(f"cannot listen on {HOST}:{port} ({error.strerror}); choose another --port") from error


PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}"><title>segvote review</title>
<a href="{address}">segvote review</a></html>
"""


def write_redirect(address: str, folder: Path | str) -> Path:
    """A file that redirects a browser to an address, readable by its owner only."""
    path = Path(folder) / "review.html"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(PAGE.format(address=address))
    return path


@contextlib.contextmanager
def open_browser(address: str) -> Iterator[None]:
    """Show an address in the user's browser.

    The browser is given the name of a file that redirects to it, because other users can read command lines.
    """
    with tempfile.TemporaryDirectory(prefix="segvote-review-") as folder:
        page = write_redirect(address, folder)
        # A browser may take its time to start; the server must listen meanwhile.
        threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
        yield
