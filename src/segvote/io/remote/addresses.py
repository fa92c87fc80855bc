"""Addresses of stores (``s3://bucket/folder``) beside paths: told apart, and each with its folder on this machine.

A folder of a store is worked on in a mirror in the cache folder. The record of a run keeps the address, so that the run
can be continued on another machine: `name_path_or_uri` gives what is written down, `find_local_path` what is read.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path

from segvote.errors import BadInputError

__all__ = [
    "CACHE_VARIABLE",
    "Address",
    "clean_url",
    "find_cache",
    "find_local_path",
    "is_uri",
    "name_path_or_uri",
    "stays_below",
]

CACHE_VARIABLE = "SEGVOTE_CACHE"
NOTE = "address"  # the file beside a mirror that says what it mirrors
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://(.*)", re.IGNORECASE | re.DOTALL)
_PASSWORD = re.compile(r"[^/@]*:[^/@]*@")
_MAX_NAME = 255  # bytes of a file's name on every usual disk


def is_uri(path_or_uri: object) -> bool:
    """Whether something is a URI of a store rather than a path.

    Examples
    --------
    >>> is_uri("s3://bucket/with"), is_uri("photos/with")
    (True, False)
    """
    return isinstance(path_or_uri, str) and _URL.fullmatch(path_or_uri) is not None


def clean_url(url: str) -> str:
    """One spelling for one folder; no password, as the address is written into the run's record."""
    match = _URL.fullmatch(url)
    protocol, rest = match.groups() if match else ("", "")
    rest = rest.rstrip("/")
    if not rest.strip("/") or not stays_below(rest.lstrip("/")):
        raise BadInputError(f"expected the address of a folder, protocol://bucket/folder, got {url!r}; check it")
    if _PASSWORD.match(rest):
        raise BadInputError(
            f"expected an address without a password, got one of {protocol}://; "
            "give it by the environment or the settings of the store's package"
        )
    return f"{protocol.lower()}://{rest}"


def stays_below(name: str) -> bool:
    """Whether a path means the same below every folder, on this system's disk."""
    return all(map(_is_plain, name.split("/")))


def _is_plain(part: str) -> bool:
    letters = "\0" if os.name != "nt" else '\0\\:*?"<>|'
    try:
        size = len(part.encode())
    except UnicodeEncodeError:
        return False
    return part not in ("", ".", "..") and size <= _MAX_NAME and not any(letter in part for letter in letters)


def find_cache() -> Path:
    """The folder for what can be fetched again: ``SEGVOTE_CACHE``, or where the system keeps such files."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen).resolve()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "segvote" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "segvote"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "segvote"


class Address:
    """The address of a folder in a store, and where its mirror lies.

    Attributes
    ----------
    url
        In its one spelling.
    holder
        Folder in the cache for the mirror and all that is known of it.
    path
        The mirror, called like the folder there: titles and names of images are made of it.
    note_path
        File beside it that says what it mirrors.
    """

    def __init__(self, url: str) -> None:
        self.url = clean_url(url)
        self.holder = _find_mirrors() / hashlib.sha256(self.url.encode()).hexdigest()[:32]
        self.path = self.holder / "files" / self.url.rpartition("/")[2]
        self.note_path = self.holder / NOTE

    @property
    def parent(self) -> Address | None:
        """The folder above; None where there is only a bucket or a disk."""
        above = self.url.rpartition("/")[0]
        return None if above.endswith("/") else Address(above)


def find_local_path(path_or_uri: Path | str) -> Path:
    """Where a folder lies on this machine: itself, or the mirror of its address or of a folder above it."""
    if not is_uri(path_or_uri):
        return Path(path_or_uri)
    address = Address(str(path_or_uri))
    above: Address | None = address
    while above is not None:
        if above.note_path.is_file():
            return above.path / address.url.removeprefix(above.url).lstrip("/")
        above = above.parent
    return address.path


def name_path_or_uri(path: Path | str) -> str:
    """The other way round: the full path of a folder, or the address that it mirrors."""
    path, mirrors = Path(path).resolve(), _find_mirrors()
    if not path.is_relative_to(mirrors) or len(parts := path.relative_to(mirrors).parts) < 3:
        return str(path)
    try:
        address = (mirrors / parts[0] / NOTE).read_text(encoding="utf-8")
    except OSError:
        return str(path)
    return "/".join([address, *parts[3:]])


def _find_mirrors() -> Path:
    return (find_cache() / "stores").resolve()
