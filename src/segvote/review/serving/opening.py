"""Opening the page without telling its address to everybody: command lines can be read by all users of a machine."""

from __future__ import annotations

import os
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}"><title>segvote review</title>
<a href="{address}">segvote review</a></html>
"""


def write_redirect(address: str, folder: Path | str) -> Path:
    """A file that leads a browser to an address, and that nobody but its owner can read."""
    path = Path(folder) / "review.html"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(PAGE.format(address=address))
    return path


@contextmanager
def open_browser(address: str) -> Iterator[None]:
    """Show an address in the user's browser, which is given a file's name and not the address; gone at the end."""
    with tempfile.TemporaryDirectory(prefix="segvote-") as folder:
        page = write_redirect(address, folder).as_uri()
        # A browser may take its time to start; the server must listen meanwhile.
        threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()
        yield
