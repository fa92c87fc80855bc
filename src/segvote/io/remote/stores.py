"""Folders in object stores (``s3://bucket/folder`` and every other address that fsspec knows): listed, fetched, sent.

Names that a store gives are a stranger's: none may lead out of the folder it is fetched to. What a store, a network or
a missing package has to say becomes one of segvote's errors. Nothing here is reached unless a user gave an address.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from segvote.errors import BadInputError, MissingPartError, SegvoteError, UnwritableFileError
from segvote.io.atomic import is_leftover
from segvote.io.remote.addresses import clean_url, stays_below

__all__ = ["Entry", "Store"]

# By which two versions of a file are told apart: the first of them that the store knows.
_MARKS = ("ETag", "md5Hash", "etag", "content_md5", "mtime", "LastModified", "last_modified", "updated", "created")
# There a file appears when all of it has arrived; elsewhere it is sent to a hidden name and renamed.
_WHOLE_AT_ONCE = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "oss", "memory"}


@dataclass(frozen=True)
class Entry:
    """A file of a store: its bytes, and a mark that changes when its content does (empty where the store has none)."""

    size: int
    mark: str


class Store:
    """One folder of a store, or one file.

    Parameters
    ----------
    url
        Its address.
    """

    def __init__(self, url: str) -> None:
        self.url = clean_url(url)
        self.protocol = self.url.split("://", 1)[0]
        self._files, self._root = _open_files(self.url, self.protocol)
        self.leftovers: list[str] = []  # as of the last listing
        # Their clients send many requests at once; others may not stand threads.
        self.n_at_once = 16 if getattr(self._files, "async_impl", False) else 1

    def list_files(self) -> dict[str, Entry]:
        """Path below the folder to what is there, sorted, hidden ones left out; the empty path where it is a file."""
        with self._explain("read"):
            self._files.invalidate_cache()
            found = self._files.find(self._root, detail=True)
        entries = {self._get_name(path): _make_entry(info) for path, info in found.items() if _is_file(path, info)}
        self.leftovers = [name for name in entries if is_leftover(name.rpartition("/")[2])]
        kept = {name: entry for name, entry in sorted(entries.items()) if not _is_hidden(name)}
        _check_names(kept, self.url)
        return kept

    def find(self, name: str) -> Entry | None:
        """One file, as it is now; None where there is none."""
        with self._explain("read"):
            try:
                self._files.invalidate_cache()
                return _make_entry(self._files.info(self._join(name)))
            except FileNotFoundError:
                return None

    def fetch(self, name: str, entry: Entry, target: Path) -> None:
        """Write a file to a path that nobody reads yet; one that came in part, or as another one, is an error."""
        with self._explain("read"):
            self._files.get_file(self._join(name), str(target))
        if target.stat().st_size != entry.size:
            raise BadInputError(f"{self.url}/{name} changed while it was fetched; repeat the command")

    def send(self, source: Path, name: str) -> Entry:
        """Put a file there, whole or not at all."""
        target = self._join(name)
        with self._explain("write"):
            if self.protocol in _WHOLE_AT_ONCE:
                self._files.put_file(str(source), target)
            else:
                self._send_renamed(source, target)
        entry = self.find(name)
        if entry is None or entry.size != source.stat().st_size:
            raise UnwritableFileError(f"{self.url}/{name} did not arrive whole; repeat the command")
        return entry

    def remove(self, name: str) -> None:
        """Take a file away; one that is gone already is no error."""
        with self._explain("write"), contextlib.suppress(FileNotFoundError):
            self._files.rm_file(self._join(name))

    def remove_leftovers(self) -> None:
        """Take away what a process that was killed had sent in part, by the last listing."""
        while self.leftovers:
            self.remove(self.leftovers.pop())

    def _send_renamed(self, source: Path, target: str) -> None:
        folder, _, last = target.rpartition("/")
        hidden = f"{folder}/.tmp-{secrets.token_hex(8)}{PurePosixPath(last).suffix}"
        self._files.makedirs(folder, exist_ok=True)
        try:
            self._files.put_file(str(source), hidden)
            self._files.mv(hidden, target)
        except BaseException:
            with contextlib.suppress(Exception):  # the first reason is the one to tell
                self._files.rm_file(hidden)
            raise

    def _join(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _get_name(self, path: str) -> str:
        if path != self._root and not path.startswith(f"{self._root}/"):
            raise BadInputError(f"{self.url} lists {path!r:.80}, which is not below it; check the store")
        return path[len(self._root) :].removeprefix("/")

    @contextlib.contextmanager
    def _explain(self, what: str) -> Iterator[None]:
        """Turn whatever a store's package raises, which has no common parent, into one line."""
        try:
            yield
        except (SegvoteError, MemoryError):
            raise
        except Exception as error:
            kind = UnwritableFileError if what == "write" else BadInputError
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise kind(
                f"cannot {what} {self.url} ({type(error).__name__}: {reason}); check the address, your rights to it "
                "and the network, then repeat the command"
            ) from error


def _open_files(url: str, protocol: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError as error:
        raise MissingPartError(f"{protocol}:// needs fsspec; install it: pip install 'segvote[stores]'") from error
    try:
        files, root = fsspec.core.url_to_fs(url)
    except ImportError as error:
        package = _name_package(protocol) or error.name
        raise MissingPartError(f"{protocol}:// needs {package}; install it: pip install {package}") from error
    except ValueError as error:
        known = ", ".join(name for name in ("s3", "gs", "abfs", "sftp", "file") if name in fsspec.available_protocols())
        raise BadInputError(
            f"expected an address that fsspec knows ({known}, …), got {protocol}:// ({error}); check it"
        ) from error
    return files, root.rstrip("/")


def _name_package(protocol: str) -> str:
    from fsspec.registry import known_implementations

    package = known_implementations.get(protocol, {}).get("class", "").split(".")[0]
    return "" if package == "fsspec" else package


def _make_entry(info: dict[str, Any]) -> Entry:
    mark = next((info[name] for name in _MARKS if info.get(name)), "")
    # A moment is a number in the listing of some stores, and none where they tell of one file.
    return Entry(int(info.get("size") or 0), str(mark.timestamp() if isinstance(mark, datetime) else mark))


def _is_file(path: str, info: dict[str, Any]) -> bool:
    # Some tools keep an empty file called like a folder in its place.
    return info.get("type") != "directory" and not path.endswith("/")


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") and part not in (".", "..") for part in name.split("/"))


def _check_names(names: Iterable[str], url: str) -> None:
    folders: set[str] = set()
    for name in names:
        if name and not stays_below(name):
            raise BadInputError(f"{url} holds {name!r:.80}, which cannot be a path below a folder; rename it there")
        folders |= {parent.as_posix() for parent in PurePosixPath(name).parents if parent.name}
    if both := sorted(folders & set(names)):
        raise BadInputError(f"{url} holds {both[0]!r:.80} both as a file and as a folder; rename one of them there")
