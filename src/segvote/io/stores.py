"""Folders in object stores (``s3://bucket/folder``, every address that fsspec knows): `get` before, `put` after a call.

A folder is worked on in a local copy below ``SEGVOTE_CACHE``. A file of the copy has the size and the time of its
object; a file that differs in either is fetched before the call, and sent after it. A copy may be sparse: placeholders
stand for objects that are fetched when they are read, see `segvote.io.objects`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from segvote.errors import BadInputError
from segvote.io.addresses import CACHE_VARIABLE as CACHE_VARIABLE
from segvote.io.addresses import find_cache as find_cache
from segvote.io.addresses import find_copies, split_uri
from segvote.io.addresses import find_local_path as find_local_path
from segvote.io.addresses import is_uri as is_uri
from segvote.io.addresses import name_path_or_uri as name_path_or_uri
from segvote.io.files import hold_folder, write_text
from segvote.io.objects import Store, Version, is_hidden, is_placeholder, stamp, write_placeholder
from segvote.progress import Progress, ignore_progress

CORRECTIONS = "review.sqlite"  # the only file of a run that no command can make again
RECORDS = ("run.json", "classes.json", "predictions.json")  # a folder that has its record is complete: sent last


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
    copy = LocalCopy(uri)
    with hold_folder(copy.state):
        copy.fetch(progress)
    if not copy.path.exists():
        raise BadInputError(f"expected a folder, found nothing at {copy.uri}; check the address")
    return copy.path


@contextlib.contextmanager
def _open_out(uri: str, progress: Progress) -> Iterator[Path]:
    """Fetch, and send at the end; an interrupted call leaves its work in the copy, where the next one continues."""
    copy = LocalCopy(uri)
    with hold_folder(copy.state):
        copy.fetch(progress)
        with copy.keep_unsent():
            yield copy.path
            copy.send(progress)


class LocalCopy:
    """The local copy of a folder in a store, by its address."""

    def __init__(self, uri: str) -> None:
        self.uri, self.path = "".join(split_uri(uri)), find_local_path(uri)
        self.state = find_copies() / ".state" / quote(self.uri, safe="")
        self.unsent = self.state / "unsent"  # exists while the copy may hold work which the store has not
        self.store = Store(self.uri)
        self.store.open()  # a missing package is an error before any work
        self.listed: dict[str, Version] = {}  # the objects when they were last listed

    def fetch(self, progress: Progress = ignore_progress, is_left: Callable[[str], bool] | None = None) -> None:
        """Make the copy equal to the store, unless it holds unsent work; names that are left there get placeholders."""
        listed = self.listed = self.store.list()
        has_work = self._has_work()
        if not has_work and self.unsent.exists():
            self._check_corrections()
        if has_work and is_left is None:
            return
        left = {name for name in listed if is_left is not None and is_left(name)}
        for name, path in self._list_copy().items():
            is_kept = name in left if is_placeholder(path) else has_work or _is_same(path, listed.get(name))
            if not is_kept:
                path.unlink()
        missing = [name for name in listed if not (self.path / name).is_file()]
        for name in left.intersection(missing):
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            write_placeholder(self.path / name)
        if not has_work:
            self.get([name for name in missing if name not in left], progress)

    def get(self, names: Sequence[str], progress: Progress = ignore_progress) -> None:
        """Fetch objects by their names."""
        if names:
            progress("get", 0, len(names))
            self.store.get(names, self.path)
            for name in names:
                stamp(self.path / name, self.listed[name])
            progress("get", len(names), len(names))

    def put(self, names: Sequence[str]) -> None:
        """Send some files, and give them the times of their objects, so that `send` leaves them."""
        self.store.put(names, self.path)
        for name in names:
            stamp(self.path / name, self.store.describe(name))

    def send(self, progress: Progress = ignore_progress) -> None:
        """Make the store equal to the copy, records last."""
        known, local = self.listed, self._list_copy()
        self.listed = self.store.list()
        changed = [name for name, path in local.items() if self._is_changed(name, path)]
        for name in sorted(known.keys() & self.listed.keys() - local.keys()):
            self.store.delete(name)
        self._put([name for name in changed if name not in RECORDS], progress)
        self._put([name for name in changed if name in RECORDS], progress)
        self.listed = self.store.list() if changed else self.listed
        for name in changed:
            stamp(self.path / name, self.listed[name])
        if self.unsent.exists():
            self._mark_unsent()

    def _is_changed(self, name: str, path: Path) -> bool:
        return not is_placeholder(path) and not _is_same(path, self.listed.get(name))

    def _put(self, names: Sequence[str], progress: Progress) -> None:
        if names:
            progress("put", 0, len(names))
            self.store.put(names, self.path)
            progress("put", len(names), len(names))

    @contextlib.contextmanager
    def keep_unsent(self) -> Iterator[None]:
        """Until the end of the block the copy may hold unsent work; an error leaves it, and the next call continues."""
        self._mark_unsent()
        yield
        self.unsent.unlink()

    def _check_corrections(self) -> None:
        """Refuse to replace corrections that were not sent by those of another machine."""
        for name, path in self._list_copy().items():
            if path.name == CORRECTIONS and not _is_same(path, self.listed.get(name)):
                raise BadInputError(
                    f"{path} holds corrections that were not sent, and another machine has changed {self.uri} since; "
                    "move that file away to go on with the run in the store"
                )

    def _mark_unsent(self) -> None:
        write_text(self.unsent, self._format_records())

    def _has_work(self) -> bool:
        """Whether an earlier call left unsent work, and no other machine has written a record since."""
        if not self.unsent.exists():
            return False
        text = self.unsent.read_text(encoding="utf-8")
        return not text or text == self._format_records()  # earlier versions left it empty

    def _format_records(self) -> str:
        """Versions of the records in the store."""
        return json.dumps({name: self.listed[name] for name in RECORDS if name in self.listed})

    def _list_copy(self) -> dict[str, Path]:
        """Name below the folder to path, hidden files left out."""
        if self.path.is_file():
            return {"": self.path}
        found = {path.relative_to(self.path).as_posix(): path for path in self.path.rglob("*") if path.is_file()}
        return {name: found[name] for name in sorted(found) if not is_hidden(name)}


def _is_same(path: Path, version: Version | None) -> bool:
    status = path.stat()
    return version is not None and status.st_size == version.size and abs(status.st_mtime - version.time) < 1e-5
