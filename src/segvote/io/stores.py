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
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from segvote.errors import BadInputError, MissingPartError, SegvoteError, UnwritableFileError
from segvote.io.files import hold_folder
from segvote.progress import Progress, ignore_progress

CACHE_VARIABLE = "SEGVOTE_CACHE"
# Files that say whether a folder is complete: sent last.
RECORDS = ("run.json", "classes.json", "predictions.json")
_ADDRESS = re.compile(
    r"([a-z][a-z0-9+.-]+)://(?![^/@]*:[^/@]*@)(/?[^/\0]+(?:/[^/\0]+)*)/?", re.IGNORECASE
)  # no password
_BAD_PART = re.compile(
    r"\.{0,2}|.*[\0\ud800-\udfff].*" if os.name != "nt" else r'\.{0,2}|.*[\0\ud800-\udfff\\:*?"<>|].*'
)
_TIMES = ("LastModified", "last_modified", "mtime", "updated", "created")  # of a listing, by kind of store
_UNSENT = "unsent"  # lies beside a copy that may hold work which the store has not


def is_uri(path_or_uri: object) -> bool:
    """Whether something is an address of a store rather than a path.

    Examples
    --------
    >>> is_uri("s3://bucket/with"), is_uri("photos/with")
    (True, False)
    """
    return isinstance(path_or_uri, str) and "://" in path_or_uri


def find_local_path(path_or_uri: Path | str) -> Path:
    """The path itself; of an address the folder in its local copy, or in the copy of a folder above it."""
    if not is_uri(path_or_uri):
        return Path(path_or_uri)
    uri = above = _clean(str(path_or_uri))
    while _ADDRESS.fullmatch(above) and not _find_holder(above).is_dir():
        above = above.rpartition("/")[0]
    above = above if _ADDRESS.fullmatch(above) else uri
    return _find_holder(above) / above.rpartition("/")[2] / uri.removeprefix(above).lstrip("/")


def name_path_or_uri(path: Path | str) -> str:
    """The full path of a folder, or the address of which it is the local copy."""
    path, copies = Path(path).resolve(), _find_copies()
    parts = path.relative_to(copies).parts if path.is_relative_to(copies) else ()
    return "/".join([unquote(parts[0]), *parts[2:]]) if len(parts) > 1 else str(path)


@contextlib.contextmanager
def open_folders(
    inputs: Sequence[Any] = (), outs: Sequence[Any] = (), progress: Progress = ignore_progress
) -> Iterator[tuple[list[Any], list[Any]]]:
    """Fetch folders that lie in stores, and send back what the ``with`` changed in `outs`.

    Both may hold paths, addresses, or anything else, which stays as it is; yields both with local paths instead of
    addresses.
    """
    with _name_addresses([*inputs, *outs]), contextlib.ExitStack() as stack:
        written = [stack.enter_context(_open_out(one, progress)) if is_uri(one) else one for one in outs]
        yield [fetch_folder(one, progress) if is_uri(one) else one for one in inputs], written


def fetch_folder(uri: str, progress: Progress = ignore_progress) -> Path:
    """Fetch a folder or a file of a store; returns its local copy."""
    copy = _LocalCopy(uri)
    with hold_folder(copy.holder):
        copy.fetch(progress)
    if not copy.path.exists():
        raise BadInputError(f"expected a folder, found nothing at {copy.uri}; check the address")
    return copy.path


@contextlib.contextmanager
def _open_out(uri: str, progress: Progress) -> Iterator[Path]:
    """Fetch, and send at the end; an interrupted call leaves its work in the copy, where the next one continues."""
    copy = _LocalCopy(uri)
    with hold_folder(copy.holder):
        copy.fetch(progress)
        (copy.holder / _UNSENT).touch()
        yield copy.path
        copy.send(progress)
        (copy.holder / _UNSENT).unlink()


class _LocalCopy:
    """The local copy of a folder in a store, by its address."""

    def __init__(self, uri: str) -> None:
        self.uri, self.holder = _clean(uri), _find_holder(uri)
        self.path = self.holder / self.uri.rpartition("/")[2]
        self._files, self._root = _open_store(self.uri)

    def fetch(self, progress: Progress) -> None:
        """Make the copy equal to the store, unless it holds unsent work."""
        if (self.holder / _UNSENT).exists():
            return
        listed = self._list_store()
        for name, path in self._list_copy().items():
            if not _is_same(path, listed.get(name)):
                path.unlink()
        wanted = [name for name in listed if not (self.path / name).is_file()]
        self._copy("get", wanted, progress)
        self._stamp(wanted, listed)

    def send(self, progress: Progress) -> None:
        """Make the store equal to the copy, records last."""
        listed, local = self._list_store(), self._list_copy()
        changed = [name for name, path in local.items() if not _is_same(path, listed.get(name))]
        with self._explain("write"):
            for name in sorted(listed.keys() - local.keys()):
                self._files.rm_file(self._join(name))
        self._copy("put", [name for name in changed if name not in RECORDS], progress)
        self._copy("put", [name for name in changed if name in RECORDS], progress)
        self._stamp(changed, self._list_store() if changed else {})

    def _list_store(self) -> dict[str, tuple[int, float]]:
        """Name below the folder to size and time; the empty name where the address is that of a file."""
        with self._explain("read"):
            self._files.invalidate_cache()
            found = self._files.find(self._root, detail=True)
        versions = {
            path.removeprefix(self._root).removeprefix("/"): _read_version(found[path]) for path in sorted(found)
        }
        for name in filter(None, versions):
            if any(_BAD_PART.fullmatch(part) for part in name.rstrip("/").split("/")):
                raise BadInputError(f"{self.uri} holds {name!r:.80}, which is no path below a folder; rename it there")
        # Some tools keep an empty object called like a folder in its place.
        return {name: one for name, one in versions.items() if not _is_hidden(name) and not name.endswith("/")}

    def _list_copy(self) -> dict[str, Path]:
        """Name below the folder to path, hidden files left out."""
        if self.path.is_file():
            return {"": self.path}
        found = {path.relative_to(self.path).as_posix(): path for path in self.path.rglob("*") if path.is_file()}
        return {name: found[name] for name in sorted(found) if not _is_hidden(name)}

    def _copy(self, verb: str, names: list[str], progress: Progress) -> None:
        """Get or put files by their names."""
        if not names:
            return
        there, here = [self._join(name) for name in names], [str(self.path / name) for name in names]
        progress(verb, 0, len(names))
        with self._explain("read" if verb == "get" else "write"):
            if verb == "get":
                for folder in {os.path.dirname(path) for path in here}:
                    os.makedirs(folder, exist_ok=True)
                self._files.get(there, here)
            else:
                if not self._files.async_impl:  # those that are have no folders
                    for folder in {path.rpartition("/")[0] for path in there}:
                        self._files.makedirs(folder, exist_ok=True)
                self._files.put(here, there)
        progress(verb, len(names), len(names))

    def _stamp(self, names: list[str], listed: dict[str, tuple[int, float]]) -> None:
        """Give files the time of their objects; a file that did not arrive whole is an error."""
        for name in names:
            path, (size, time) = self.path / name, listed.get(name, (-1, 0.0))
            if path.stat().st_size != size:
                raise BadInputError(f"{self.uri}/{name} did not arrive whole; repeat the command")
            os.utime(path, (time, time))

    def _join(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    @contextlib.contextmanager
    def _explain(self, what: str) -> Iterator[None]:
        """Turn any error of a store's package, which have no common parent, into one line."""
        try:
            yield
        except MemoryError:
            raise
        except Exception as error:
            kind = UnwritableFileError if what == "write" else BadInputError
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise kind(
                f"cannot {what} {self.uri} ({type(error).__name__}: {reason}); check the address, your rights to it "
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


@contextlib.contextmanager
def _name_addresses(given: Sequence[Any]) -> Iterator[None]:
    """Put the addresses that were given into errors, in the place of their local copies."""
    try:
        yield
    except SegvoteError as error:
        text = str(error)
        for uri in filter(is_uri, given):
            with contextlib.suppress(BadInputError):  # the address itself may be wrong
                text = text.replace(str(find_local_path(uri)), uri)
        if text == str(error):
            raise
        raise type(error)(text) from error


def _clean(uri: str) -> str:
    """One spelling of an address; paths and passwords are refused, as the address is written into the run's record."""
    match = _ADDRESS.fullmatch(uri)
    if match is None or any(_BAD_PART.fullmatch(part) for part in match[2].lstrip("/").split("/")):
        shown = re.sub("//.*@", "//…@", uri)
        raise BadInputError(f"expected protocol://bucket/folder without a password, got {shown!r:.80}; check it")
    return f"{match[1].lower()}://{match[2]}"


def _find_holder(uri: str) -> Path:
    """The folder that holds the local copy of an address, named so that the address can be read from it."""
    return _find_copies() / quote(_clean(uri), safe="")


def _find_copies() -> Path:
    return (Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "segvote") / "stores").resolve()


def _read_version(info: dict[str, Any]) -> tuple[int, float]:
    """Size and time of an object, from what its store lists."""
    time = next((info[name] for name in _TIMES if info.get(name) is not None), 0.0)
    time = datetime.fromisoformat(time) if isinstance(time, str) else time
    return int(info["size"] or 0), time.timestamp() if isinstance(time, datetime) else float(time)


def _is_same(path: Path, version: tuple[int, float] | None) -> bool:
    status = path.stat()
    return version is not None and status.st_size == version[0] and abs(status.st_mtime - version[1]) < 1e-5


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))
