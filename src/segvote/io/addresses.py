"""Addresses of stores (``s3://bucket/folder``), and where the local copy of each lies: below ``SEGVOTE_CACHE``."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote, unquote

from segvote.errors import BadInputError

CACHE_VARIABLE = "SEGVOTE_CACHE"
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+:///?)(?![^/@]*:[^/@]*@)([^/\0]+(?:/[^/\0]+)*)/?", re.IGNORECASE)


def is_uri(path_or_uri: object) -> bool:
    """Whether something is an address of a store rather than a path."""
    return isinstance(path_or_uri, str) and "://" in path_or_uri


def find_local_path(path_or_uri: Path | str) -> Path:
    """The path itself, or the local copy of an address; the copy of a folder lies in that of the folder above it."""
    if not is_uri(path_or_uri):
        return Path(path_or_uri)
    store, path = split_uri(str(path_or_uri))
    return find_copies() / quote(store, safe="") / path


def name_path_or_uri(path: Path | str) -> str:
    """The full path of a folder, or the address of which it is the local copy."""
    path, cache = Path(path).resolve(), find_copies()
    parts = path.relative_to(cache).parts if path.is_relative_to(cache) else ()
    return unquote(parts[0]) + "/".join(parts[1:]) if len(parts) > 1 else str(path)


def split_uri(uri: str) -> tuple[str, str]:
    """Protocol and path; passwords are refused, as the address is written into the run's record."""
    match = _ADDRESS.fullmatch(uri)
    if match is None or {".", ".."} & {*match[2].split("/")} or not match[2].isprintable():
        shown = re.sub("//.*@", "//…@", uri)
        raise BadInputError(f"expected protocol://bucket/folder without a password, got {shown!r:.80}; check it")
    return match[1].lower(), match[2]


def find_cache() -> Path:
    """The folder of local copies: ``SEGVOTE_CACHE``, or one in the user's home."""
    return Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "segvote").resolve()


def find_copies() -> Path:
    """The folder of local copies of stores."""
    return find_cache() / "stores"
