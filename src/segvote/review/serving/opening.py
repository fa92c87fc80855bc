"""Opening the page without telling its address to everybody: command lines can be read by all users of a machine."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
