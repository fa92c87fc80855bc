"""Addresses of stores (``s3://bucket/folder``) beside paths: told apart, and each with its folder on this machine.

The record of a run keeps the address: `name_path_or_uri` gives what is written down, `find_local_path` what is read.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path

from segvote.errors import BadInputError

CACHE_VARIABLE = "SEGVOTE_CACHE"
NOTE = "address"  # the file beside a local copy that says of what
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://(.*)", re.IGNORECASE | re.DOTALL)
_PASSWORD = re.compile(r"[^/@]*:[^/@]*@")
_STRANGE = re.compile("[\0\ud800-\udfff]" if os.name != "nt" else '[\0\ud800-\udfff\\\\:*?"<>|]')  # no disk takes these
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
    if not stays_below(rest.lstrip("/")):
        raise BadInputError(f"expected the address of a folder, protocol://bucket/folder, got {url!r}; check it")
    if _PASSWORD.match(rest):
        raise BadInputError(
            f"expected an address without a password, got one of {protocol}://; "
            "give it by the environment or the settings of the store's package"
        )
    return f"{protocol.lower()}://{rest}"


def stays_below(name: str) -> bool:
    """Whether a path means the same below every folder, on this system's disk."""
    return all(
        part not in ("", ".", "..") and not _STRANGE.search(part) and len(part.encode()) <= _MAX_NAME
        for part in name.split("/")
    )


def find_holder(url: str) -> Path:
    """The folder of the cache for the local copy of an address, and all that is noted of it."""
    return _find_copies() / hashlib.sha256(clean_url(url).encode()).hexdigest()[:32]


def find_local_path(path_or_uri: Path | str) -> Path:
    """Where a folder lies on this machine: itself, or in the local copy of its address or of a folder above it."""
    if not is_uri(path_or_uri):
        return Path(path_or_uri)
    above = url = clean_url(str(path_or_uri))
    while not (find_holder(above) / NOTE).is_file():
        above = above.rpartition("/")[0]
        if above.endswith("/"):  # a bucket has nothing above it
            above = url
            break
    # Called like the folder there: titles and names of images are made of it.
    return find_holder(above) / "files" / above.rpartition("/")[2] / url.removeprefix(above).lstrip("/")


def name_path_or_uri(path: Path | str) -> str:
    """The other way round: the full path of a folder, or the address of which it is a copy."""
    path, copies = Path(path).resolve(), _find_copies()
    parts = path.relative_to(copies).parts if path.is_relative_to(copies) else ()
    note = copies.joinpath(*parts[:1], NOTE)
    return "/".join([note.read_text(encoding="utf-8"), *parts[3:]]) if len(parts) > 2 and note.is_file() else str(path)


def _find_copies() -> Path:
    """In the folder for what can be fetched again: ``SEGVOTE_CACHE``, or where the system keeps such files."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        cache = Path(chosen)
    elif sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "segvote" / "cache"
    elif sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches" / "segvote"
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "segvote"
    return (cache / "stores").resolve()
