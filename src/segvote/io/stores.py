"""Folders in object stores (``s3://bucket/folder``, every address that fsspec knows): `get` before, `put` after a call.

A folder is worked on in a local copy below ``SEGVOTE_CACHE``. A file of the copy has the size and the time of its
object; a file that differs in either is fetched before the call, and sent after it. fsspec is imported only if an
address is given.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, unquote

from segvote.errors import BadInputError, MissingPartError, UnwritableFileError
from segvote.io.files import hold_folder
from segvote.io.names import check_name
from segvote.progress import Progress, ignore_progress

CACHE_VARIABLE = "SEGVOTE_CACHE"
RECORDS = ("run.json", "classes.json", "predictions.json")  # a folder that has its record is complete: sent last
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+:///?)(?![^/@]*:[^/@]*@)([^/\0]+(?:/[^/\0]+)*)/?", re.IGNORECASE)
_TIMES = ("LastModified", "last_modified", "mtime", "updated", "created")  # of a listing, by kind of store


def is_uri(path_or_uri: object) -> bool:
    """Whether something is an address of a store rather than a path."""
    return isinstance(path_or_uri, str) and "://" in path_or_uri


def find_local_path(path_or_uri: Path | str) -> Path:
    """The path itself, or the local copy of an address; the copy of a folder lies in that of the folder above it."""
    if not is_uri(path_or_uri):
        return Path(path_or_uri)
    store, path = _split(str(path_or_uri))
    return _find_copies() / quote(store, safe="") / path


def name_path_or_uri(path: Path | str) -> str:
    """The full path of a folder, or the address of which it is the local copy."""
    path, cache = Path(path).resolve(), _find_copies()
    parts = path.relative_to(cache).parts if path.is_relative_to(cache) else ()
    return unquote(parts[0]) + "/".join(parts[1:]) if len(parts) > 1 else str(path)


@contextlib.contextmanager
def open_folders(
    inputs: Sequence[Any] = (), outs: Sequence[Any] = (), progress: Progress = ignore_progress
) -> Iterator[tuple[list[Any], list[Any]]]:
    """Fetch folders that lie in stores, and send back the changes of the ``with`` block in `outs`.

    Both may hold paths, addresses, or anything else, which stays as it is; yields both with local paths instead of
    addresses.
    """
    with contextlib.ExitStack() as stack:
        written = [stack.enter_context(_open_out(one, progress)) if is_uri(one) else one for one in outs]
        yield [fetch_folder(one, progress) if is_uri(one) else one for one in inputs], written


def fetch_folder(uri: str, progress: Progress = ignore_progress) -> Path:
    """Fetch a folder or a file of a store; returns its local copy."""
    copy = _LocalCopy(uri)
    with hold_folder(copy.state):
        copy.fetch(progress)
    if not copy.path.exists():
        raise BadInputError(f"expected a folder, found nothing at {copy.uri}; check the address")
    return copy.path


@contextlib.contextmanager
def _open_out(uri: str, progress: Progress) -> Iterator[Path]:
    """Fetch, and send at the end; an interrupted call leaves its work in the copy, where the next one continues."""
    copy = _LocalCopy(uri)
    with hold_folder(copy.state):
        copy.fetch(progress)
        copy.unsent.touch()
        yield copy.path
        copy.send(progress)
        copy.unsent.unlink()


class _LocalCopy:
    """The local copy of a folder in a store, by its address."""

    def __init__(self, uri: str) -> None:
        self.uri, self.path = "".join(_split(uri)), find_local_path(uri)
        self.state = _find_copies() / ".state" / quote(self.uri, safe="")
        self.unsent = self.state / "unsent"  # exists while the copy may hold work which the store has not
        self._files, self._root = _open_store(self.uri)

    def fetch(self, progress: Progress) -> None:
        """Make the copy equal to the store, unless it holds unsent work."""
        if self.unsent.exists():
            return
        listed = self._list_store()
        for name, path in self._list_copy().items():
            if not _is_same(path, listed.get(name)):
                path.unlink()
        wanted = [name for name in listed if not (self.path / name).is_file()]
        for name in wanted:
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        self._transfer("get", wanted, progress)
        self._stamp(wanted, listed)

    def send(self, progress: Progress) -> None:
        """Make the store equal to the copy, records last."""
        listed, local = self._list_store(), self._list_copy()
        changed = [name for name, path in local.items() if not _is_same(path, listed.get(name))]
        with self._explain("write"):
            for name in sorted(listed.keys() - local.keys()):
                self._files.rm_file(self._join(name))
            if not self._files.async_impl:  # those that are have no folders
                for folder in {self._join(name).rpartition("/")[0] for name in changed}:
                    self._files.makedirs(folder, exist_ok=True)
        self._transfer("put", [name for name in changed if name not in RECORDS], progress)
        self._transfer("put", [name for name in changed if name in RECORDS], progress)
        self._stamp(changed, self._list_store() if changed else {})

    def _list_store(self) -> dict[str, tuple[int, float]]:
        """Name below the folder to size and time; the empty name where the address is that of a file."""
        with self._explain("read"):
            self._files.invalidate_cache()
            found = self._files.find(self._root, detail=True)
        versions = {}
        for path in sorted(found):
            name = path.removeprefix(self._root).removeprefix("/")
            # Some tools keep an empty object called like a folder in its place.
            if not _is_hidden(name) and not name.endswith("/"):
                if name and PurePosixPath(check_name(name)).as_posix() != name:
                    raise BadInputError(f"{self.uri} holds {name!r:.80}, which no folder can hold; rename it there")
                versions[name] = _read_version(found[path])
        return versions

    def _list_copy(self) -> dict[str, Path]:
        """Name below the folder to path, hidden files left out."""
        if self.path.is_file():
            return {"": self.path}
        found = {path.relative_to(self.path).as_posix(): path for path in self.path.rglob("*") if path.is_file()}
        return {name: found[name] for name in sorted(found) if not _is_hidden(name)}

    def _transfer(self, verb: str, names: list[str], progress: Progress) -> None:
        """Get or put files by their names."""
        if names:
            there, here = [self._join(name) for name in names], [str(self.path / name) for name in names]
            progress(verb, 0, len(names))
            with self._explain("read" if verb == "get" else "write"):
                self._files.get(there, here) if verb == "get" else self._files.put(here, there)
            progress(verb, len(names), len(names))

    def _stamp(self, names: list[str], listed: dict[str, tuple[int, float]]) -> None:
        """Give files the time of their objects."""
        for name in names:
            os.utime(self.path / name, (listed[name][1], listed[name][1]))

    def _join(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    @contextlib.contextmanager
    def _explain(self, verb: str) -> Iterator[None]:
        """Turn any error of a store's package, which have no common parent, into one line."""
        try:
            yield
        except Exception as error:
            kind = UnwritableFileError if verb == "write" else BadInputError
            reason = " ".join(str(error).split())[:200]
            raise kind(
                f"cannot {verb} {self.uri} ({type(error).__name__}: {reason}); check the address, your rights to it "
                "and the network, then repeat the command"
            ) from error


def _open_store(uri: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    try:
        from fsspec.core import url_to_fs

        files, root = url_to_fs(uri)
    except (ImportError, ValueError) as error:
        raise MissingPartError(
            f"cannot open {uri} ({error}); check the address, or install the package: pip install 'segvote[stores]'"
        ) from error
    return files, root.rstrip("/")


def _split(uri: str) -> tuple[str, str]:
    """Protocol and path; passwords are refused, as the address is written into the run's record."""
    match = _ADDRESS.fullmatch(uri)
    if match is None or {".", ".."} & {*match[2].split("/")} or not match[2].isprintable():
        shown = re.sub("//.*@", "//…@", uri)
        raise BadInputError(f"expected protocol://bucket/folder without a password, got {shown!r:.80}; check it")
    return match[1].lower(), match[2]


def find_cache() -> Path:
    """The folder of local copies: ``SEGVOTE_CACHE``, or one in the user's home."""
    return Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "segvote").resolve()


def _find_copies() -> Path:
    return find_cache() / "stores"


def _read_version(info: dict[str, Any]) -> tuple[int, float]:
    """Size and time of an object, from its entry in the listing."""
    time = next((info[name] for name in _TIMES if info.get(name) is not None), 0.0)
    time = datetime.fromisoformat(time) if isinstance(time, str) else time
    return int(info["size"] or 0), time.timestamp() if isinstance(time, datetime) else float(time)


def _is_same(path: Path, version: tuple[int, float] | None) -> bool:
    status = path.stat()
    return version is not None and status.st_size == version[0] and abs(status.st_mtime - version[1]) < 1e-5


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") and part != ".." for part in name.split("/"))
