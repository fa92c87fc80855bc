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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from segvote.errors import BadInputError, MissingPartError, SegvoteError
from segvote.run.classes import ClassRuns, find_class_record
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder

HOST = "127.0.0.1"


def serve(folder: Path | str, port: int = 0, announce: Callable[[str], None] = print) -> None:
    """Show a run in the browser until interrupted.

    Parameters
    ----------
    folder
        Run folder of `segvote annotate`.
    port
        Where to listen on 127.0.0.1; 0: any free port.
    announce
        Called once with the address, when the server listens.
    """
    with open_server(open_reviewed(folder), port) as (server, listener, address):
        announce(address)
        if _is_in_event_loop():
            _run_in_thread(server, listener)
        else:
            server.run(sockets=[listener])


def _is_in_event_loop() -> bool:
    """Whether this thread runs an event loop already, as the kernel of a notebook does; a second one is refused."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run_in_thread(server: Any, listener: socket.socket) -> None:
    """Serve until this thread is interrupted."""
    ended = threading.Event()

    def run() -> None:
        try:
            server.run(sockets=[listener])
        finally:
            ended.set()

    threading.Thread(target=run, name="segvote review").start()
    # Not by `join`: one that was interrupted takes the thread for ended, and the socket would be closed under it.
    try:
        ended.wait()
    finally:
        server.should_exit = True
        ended.wait()


@contextlib.contextmanager
def open_server(run: Run | ClassRuns, port: int = 0) -> Iterator[tuple[Any, socket.socket, str]]:
    """A uvicorn server that is not running yet, the socket it is to use, and the address with the token."""
    uvicorn = _import_web()
    from segvote.review.serving.guard import MAX_CONNECTIONS, PatientProtocol

    with _listen(port) as listener:
        app, token, session = make_guarded_app(run)
        config = uvicorn.Config(
            app,
            log_level="error",
            access_log=False,  # it would print the token
            lifespan="off",
            http=PatientProtocol,
            ws="none",
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=1,
            server_header=False,
        )
        try:
            yield (
                _make_server(uvicorn, config, session),
                listener,
                f"http://{HOST}:{listener.getsockname()[1]}/{token}/",
            )
        finally:
            session.close()


def _make_server(uvicorn: Any, config: Any, session: Any) -> Any:
    class Server(uvicorn.Server):  # type: ignore[misc, name-defined]
        """Lets the open event streams end by themselves before it closes the connections."""

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            session.close_streams()
            await super().shutdown(sockets)

    return Server(config)


def open_reviewed(folder: Path | str) -> Run | ClassRuns:
    """The run in a folder, or the runs of its classes."""
    return ClassRuns(folder) if find_class_record(RunFolder(folder)).is_file() else Run(folder)


def make_guarded_app(run: Run | ClassRuns, token: str | None = None) -> tuple[Any, str, Any]:
    """The application, its token, and the session behind it (or those of all classes), whose engine is at work."""
    _import_web()
    from segvote.review.serving.guard import Guard
    from segvote.review.serving.routes import ClassSessions, make_app, make_class_app
    from segvote.review.session import Session

    token = token or secrets.token_urlsafe(32)
    session = ClassSessions(run) if isinstance(run, ClassRuns) else Session(run)
    session.start()

    def log(reason: str, path: str) -> None:
        # A full disk does not change the answer to a rejected request.
        with contextlib.suppress(SegvoteError, OSError):
            run.folder.log(step="review refused", reason=reason, path=path)

    app = make_class_app(session) if isinstance(session, ClassSessions) else make_app(session)
    return Guard(app, token, log), token, session


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
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(512)
    except OSError as error:
        listener.close()
        raise BadInputError(f"cannot listen on {HOST}:{port} ({error.strerror}); choose another --port") from error
    return listener


PREFIX = "segvote-review-"  # of temporary folders, before the number of the process
REDIRECT_SECONDS = 120.0  # how long the file that leads to the page exists
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


@contextmanager
def open_browser(address: str) -> Iterator[None]:
    """Show an address in the user's browser, which is given a file's name and not the address; gone at the end."""
    _remove_stale()
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as folder:
        page = write_redirect(address, folder)
        # A browser may take its time to start; the server must listen meanwhile.
        threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
        # A killed process cannot tidy up: the secret should not lie there for as long as the page is open.
        timer = threading.Timer(REDIRECT_SECONDS, page.unlink, kwargs={"missing_ok": True})
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _remove_stale() -> None:
    """Delete the folders of this user's processes that were killed before they could."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        number = folder.name.removeprefix(PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            is_own = hasattr(os, "getuid") and folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
            if is_own and number.isdecimal() and not _is_alive(int(number)):
                (folder / "review.html").unlink(missing_ok=True)
                folder.rmdir()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
