"""Objects of a store, listed, read and written one by one: each whole or not at all, again after transient errors.

fsspec is imported only if a store is used.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar

from segvote.errors import BadInputError, MissingPartError, SegvoteError, UnwritableFileError
from segvote.io.addresses import is_uri, name_path_or_uri, split_uri
from segvote.io.names import check_name

Result = TypeVar("Result")
# Attempts at a request that fails for a passing reason; seconds before the second, doubled before each further one.
ATTEMPTS, PAUSE = 5, 0.5
# Objects that are fetched or sent in one call of the store's package.
BATCH = 500
_TIMES = ("LastModified", "last_modified", "mtime", "updated", "created")  # of a listing, by kind of store
_TAGS = ("ETag", "etag")
# Errors that another attempt cannot mend.
_LASTING = (FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError, NotADirectoryError)
_LASTING_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EINVAL, errno.ENAMETOOLONG)
# Packages of stores whose errors of connection inherit from no common class.
_PACKAGES = ("aiobotocore", "aiohttp", "azure", "botocore", "gcsfs", "google", "paramiko", "requests", "urllib3")


class Version(NamedTuple):
    """The content of an object as a listing describes it: size and time."""

    size: int
    time: float  # seconds since 1970
    tag: str = ""  # of its content, where the store has one


class StoreError(BadInputError):
    """A store cannot be read; the message names the address."""


@dataclass(frozen=True)
class Store:
    """A folder of a store by its address; names are those below it. Small enough to be sent to workers."""

    uri: str

    def open(self) -> tuple[Any, str]:
        """The file system, and the path of the folder in it."""
        try:
            from fsspec.core import url_to_fs

            files, root = url_to_fs(self.uri)
        except (ImportError, ValueError) as error:
            raise MissingPartError(
                f"cannot open {self.uri} ({error}); check the address, or install the package: pip install "
                "'segvote[stores]'"
            ) from error
        return files, root.rstrip("/")

    def list(self) -> dict[str, Version]:
        """Name below the folder to version, hidden ones left out; the empty name where the address is an object's."""
        files, root = self.open()

        def find() -> Any:
            files.invalidate_cache()
            return files.find(root, detail=True)

        with self.explain("read"):
            found = retry(find)
        named = {path.removeprefix(root).removeprefix("/"): found[path] for path in sorted(found)}
        # Some tools keep an empty object called like a folder in its place.
        listed = {name: info for name, info in named.items() if not is_hidden(name) and not name.endswith("/")}
        return {self._check(name): _read_version(info) for name, info in listed.items()}

    def _check(self, name: str) -> str:
        if name and PurePosixPath(check_name(name)).as_posix() != name:
            raise BadInputError(f"{self.uri} holds {name!r:.80}, which no folder can hold; rename it there")
        return name

    def describe(self, name: str) -> Version:
        """The version of an object."""
        files, root = self.open()
        with self.explain("read"):
            return _read_version(retry(lambda: files.info(_join(root, name))))

    def read(self, name: str) -> bytes | None:
        """The bytes of an object, or None where there is none."""
        files, root = self.open()
        with self.explain("read"):
            try:
                return bytes(retry(lambda: files.cat_file(_join(root, name))))
            except FileNotFoundError:
                return None

    def read_many(self, names: Sequence[str]) -> Iterator[tuple[str, bytes | None]]:
        """Names and bytes of objects, many at a time."""
        files, root = self.open()
        for batch in _split_batches(names):
            paths = [_join(root, name) for name in batch]
            with self.explain("read"):
                found = retry(partial(files.cat_ranges, paths, None, None, on_error="return"))
            for name, data in zip(batch, found, strict=True):
                yield name, self.read(name) if isinstance(data, BaseException) else bytes(data)

    def write(self, name: str, data: bytes) -> None:
        """Write an object."""
        files, root = self.open()
        with self.explain("write"):
            retry(lambda: _write(files, _join(root, name), lambda target: files.pipe_file(target, data)))

    def create(self, name: str, data: bytes) -> bool:
        """Write an object unless there is one of this name; whether it was written. Of several callers one succeeds."""
        files, root = self.open()
        target = _join(root, name)
        with self.explain("write"):
            try:
                _make_parent(files, target)
                retry(lambda: files.pipe_file(target, data, mode="create"))
                return True
            except Exception:  # stores have errors of their own for it; an attempt that seemed to fail may have written
                there = self.read(name)
                if there is None:
                    raise
                return there == data

    def delete(self, name: str) -> None:
        """Delete an object, where there is one."""
        files, root = self.open()
        with self.explain("write"), contextlib.suppress(FileNotFoundError):
            retry(lambda: files.rm_file(_join(root, name)))

    def get(self, names: Sequence[str], folder: Path) -> None:
        """Copy objects into files of the same names below a folder; each is whole or absent."""
        files, root = self.open()
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        for batch in _split_batches(names):
            parts = [f"{(folder / name).parent}/.tmp-{secrets.token_hex(8)}" for name in batch]
            with self.explain("read"):
                try:
                    retry(partial(files.get, [_join(root, name) for name in batch], parts))
                    for name, part in zip(batch, parts, strict=True):
                        os.replace(part, folder / name)
                finally:
                    for part in parts:
                        Path(part).unlink(missing_ok=True)

    def put(self, names: Sequence[str], folder: Path) -> None:
        """Copy files below a folder into objects of the same names."""
        files, root = self.open()
        with self.explain("write"):
            for batch in _split_batches(names):
                here, there = [str(folder / name) for name in batch], [_join(root, name) for name in batch]
                if files.async_impl:  # sends many at a time
                    retry(partial(files.put, here, there))
                    continue
                for one, target in zip(here, there, strict=True):
                    retry(partial(_write, files, target, partial(files.put_file, one)))

    @contextlib.contextmanager
    def explain(self, verb: str) -> Iterator[None]:
        """Turn any error of a store's package, which have no common parent, into one line."""
        try:
            yield
        except SegvoteError:
            raise
        except Exception as error:
            kind = UnwritableFileError if verb == "write" else StoreError
            reason = " ".join(str(error).split())[:200]
            raise kind(
                f"cannot {verb} {self.uri} ({type(error).__name__}: {reason}); check the address, your rights to it "
                "and the network, then repeat the command"
            ) from error


def retry(request: Callable[[], Result]) -> Result:
    """Call, and call again after transient errors, each time after about twice the pause."""
    for attempt in range(ATTEMPTS - 1):
        try:
            return request()
        except Exception as error:
            if not is_transient(error):
                raise
        time.sleep(PAUSE * 2**attempt * random.uniform(0.5, 1.5))  # not all workers at once
    return request()


def is_transient(error: BaseException | None) -> bool:
    """Whether an error of a store may pass by itself: a failing server, a lost connection, too many requests."""
    if isinstance(error, OSError):
        return not isinstance(error, _LASTING) and error.errno not in _LASTING_NUMBERS
    is_secret = "credential" in type(error).__name__.lower()
    return not is_secret and type(error).__module__.partition(".")[0] in _PACKAGES


def is_hidden(name: str) -> bool:
    """Whether a name, or a folder in it, begins with a full stop."""
    return any(part.startswith(".") and part != ".." for part in name.split("/"))


def _join(root: str, name: str) -> str:
    return f"{root}/{name}" if name else root


def _split_batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    return (names[start : start + BATCH] for start in range(0, len(names), BATCH))


def _make_parent(files: Any, target: str) -> None:
    if not files.async_impl:  # those that are have no folders
        files.makedirs(target.rpartition("/")[0], exist_ok=True)


def _write(files: Any, target: str, write: Callable[[str], None]) -> None:
    """Write under the final name where the store has whole objects only; rename where it is a disk."""
    from fsspec import AbstractFileSystem

    _make_parent(files, target)
    if files.async_impl or type(files).mv is AbstractFileSystem.mv:
        return write(target)
    temporary = f"{target.rpartition('/')[0]}/.tmp-{secrets.token_hex(8)}"
    try:
        write(temporary)
        files.mv(temporary, target)
    except BaseException:
        with contextlib.suppress(Exception):  # the first error is the one to report
            files.rm_file(temporary)
        raise


def _read_version(info: dict[str, Any]) -> Version:
    time = next((info[name] for name in _TIMES if info.get(name) is not None), 0.0)
    time = datetime.fromisoformat(time) if isinstance(time, str) else time
    seconds = time.timestamp() if isinstance(time, datetime) else float(time)
    return Version(int(info["size"] or 0), seconds, str(next((info[tag] for tag in _TAGS if tag in info), "")))


# Placeholders ---------------------------------------------------------------------------------------------------------


def write_placeholder(path: Path) -> None:
    """Put an empty file, dated 1970, in the place of an object that is fetched when it is first read."""
    path.unlink(missing_ok=True)
    path.touch()
    os.utime(path, (0, 0))


def is_placeholder(path: Path) -> bool:
    """Whether a file stands for an object that has not been fetched."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return False
    return status.st_size == 0 and status.st_mtime == 0


def fetch_placeholder(path: Path) -> None:
    """Fetch the object that a file of a local copy stands for; other files stay as they are."""
    if not is_placeholder(path) or not is_uri(uri := name_path_or_uri(path)):
        return
    split_uri(uri)
    store = Store(uri.rpartition("/")[0])
    store.get([path.name], path.parent)
    stamp(path, store.describe(path.name))


def stamp(path: Path, version: Version) -> None:
    """Give a file the time of its object."""
    os.utime(path, (version.time, version.time))
