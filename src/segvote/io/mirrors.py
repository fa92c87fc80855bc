"""The local mirror of a folder in a store: what it has is fetched, what was written here is sent, each once.

A mirror lies in the cache folder, with a list of what is known of each file: the store's mark of it, its SHA-256, and
when it was written here. Of two versions the store's counts; one that was never sent is put aside, not lost. The
records of a run are sent last, and say before anything else is changed that the run is not complete.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from segvote.errors import BadInputError, BusyRunError, SegvoteError
from segvote.io.addresses import CACHE_VARIABLE, Address
from segvote.io.atomic import atomic_path, write_text
from segvote.io.records import read_fields
from segvote.io.run_folder import CHECKSUM, RunFolder
from segvote.io.stores import Entry, Store
from segvote.io.tables import read_json, write_json

__all__ = ["Mirror"]

# The files that say whose a folder is and whether it is complete.
RECORDS = ("run.json", "classes.json", "predictions.json")
# Differ between equal runs, and decide nothing.
REMARKS = {"log.jsonl", "report.html"}
# Files after which the list of what is known is written: so many are done again at most.
N_AT_ONCE = 200
ROOM = 100_000_000  # bytes that a fetch leaves free

# step, done, total
Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Known:
    """A file as it was when the store and the mirror had the same."""

    size: int
    mark: str
    sha256: str
    written: str  # when, in nanoseconds: more digits than a number of JSON keeps


class Mirror:
    """A folder of this machine that mirrors one in a store.

    Parameters
    ----------
    url
        The address of the folder, or of a file.
    """

    def __init__(self, url: str) -> None:
        self.address = Address(url)
        self.url, self.holder, self.path = self.address.url, self.address.holder, self.address.path
        self._list_path = self.holder / "known.json"
        self._known: dict[str, Known] = {}
        self._there: set[str] = set()  # what was in the mirror after it was fetched
        self._news: set[str] = set()  # what came with another content than was here
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        if self._store is None:
            self._store = Store(self.url)
        return self._store

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes of this machine out."""
        with RunFolder(self.holder).lock():
            yield

    def fetch(self, report: Report, is_run: bool = False, leave_out: Sequence[str] = ()) -> None:
        """Make the mirror as the store is.

        Parameters
        ----------
        report
            Called with step, done, total.
        is_run
            A run folder that is ours to write: work may be in the mirror that the store has not got yet. It stays.
        leave_out
            Folders of it that are not wanted now, ``("features/",)``.
        """
        listed = self.store.list_files()
        if is_run:
            _check_claim(listed, self.url)
        is_run = is_run or any(name in listed for name in RECORDS)
        entries = {name: one for name, one in listed.items() if not name.startswith(tuple(leave_out))}
        self._read_list()
        own = set(self._list_unsent()) if is_run else set()
        missing = [name for name, entry in entries.items() if not self._has(name, entry, is_run)]
        self._check_room(sum(entries[name].size for name in missing))
        with self._keep_list():
            self._carry_out(missing, lambda name: self._fetch_one(name, entries[name], name in own), "fetch", report)
            self._forget(name for name in self._list_local() if name not in listed and self._is_gone(name, is_run, own))
        if missing and is_run:
            self._check_alone(listed)
        own -= set(missing) - self._news
        if (own - REMARKS) and (self._news - REMARKS):
            self._doubt_records()
        self._there = set(self._list_local())

    def send(self, report: Report) -> None:
        """Bring what changed here to the store; the records last, so that half of it is never taken for whole."""
        changed, deleted = self._list_unsent(), sorted(self._there - set(self._list_local()))
        if not changed and not deleted:
            return
        self._check_alone(self._known)
        self.store.remove_leftovers()
        records = sorted(filter(_is_record, self._list_local()), key=lambda name: (-name.count("/"), name))
        others = [name for name in changed if name not in records]
        with self._keep_list():
            if self._is_disturbed_by([*others, *deleted]):
                for name in reversed(records):
                    self._send_doubted(name)
            self._carry_out(others, self._send_one, "send", report)
            self._carry_out(deleted, self._remove_one, "remove", report)
            for name in records:
                if self._is_unsent(name):
                    self._send_one(name)
        self._there = set(self._list_local())

    def _is_disturbed_by(self, names: Sequence[str]) -> bool:
        """Whether the run in the store is not whole while these are on their way: one comes new, or is changed."""
        is_new = not any(name in self._known for name in RECORDS)
        return is_new or any(name in self._known and name not in REMARKS for name in names)

    def _has(self, name: str, entry: Entry, is_run: bool) -> bool:
        """Whether there is nothing to fetch."""
        known = self._known.get(name)
        if known is None or (known.mark, known.size) != (entry.mark, entry.size) or not entry.mark:
            return False
        path = self.path / name
        return path.is_file() and (is_run or _get_time(path) == known.written)

    def _is_gone(self, name: str, is_run: bool, own: set[str]) -> bool:
        """Whether a file that the store has not got was there once; of a run, others are on their way to it."""
        return not is_run or (name in self._known and name not in own)

    def _fetch_one(self, name: str, entry: Entry, is_own: bool) -> None:
        path = self.path / name
        with atomic_path(path, durable=False) as temporary:
            self.store.fetch(name, entry, temporary)
            digest = _hash(temporary)
            if not path.is_file() or _hash(path) != digest:
                self._news.add(name)
                if is_own and path.is_file():
                    self._put_aside(name)
        self._known[name] = Known(entry.size, entry.mark, digest, _get_time(path))

    def _put_aside(self, name: str) -> None:
        aside = self.holder / "replaced" / name
        aside.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self.path / name, aside)

    def _send_one(self, name: str) -> None:
        path = self.path / name
        time, digest = _get_time(path), _hash(path)
        entry = self.store.send(path, name)
        self._known[name] = Known(entry.size, entry.mark, digest, time)

    def _send_doubted(self, name: str) -> None:
        """The record, saying that the run is not complete; the true one follows when all else is there."""
        doubted = self.holder / "doubted.json"
        _write_doubted(self.path / name, doubted)
        entry = self.store.send(doubted, name)
        self._known[name] = Known(entry.size, entry.mark, _hash(doubted), "")
        self._write_list()

    def _remove_one(self, name: str) -> None:
        self.store.remove(name)
        self._known.pop(name, None)

    def _doubt_records(self) -> None:
        """Part of it is ours, part of it another's: what was complete may not fit together any more."""
        for name in filter(_is_record, self._list_local()):
            _write_doubted(self.path / name, self.path / name)

    def _carry_out(self, names: Sequence[str], act: Callable[[str], None], step: str, report: Report) -> None:
        if not names:
            return
        report(step, 0, len(names))
        with _open_pool(self.store.n_at_once) as run_all:
            for done, _ in enumerate(run_all(act, names), start=1):
                if done % N_AT_ONCE == 0:
                    self._write_list()
                report(step, done, len(names))

    def _check_alone(self, expected: Mapping[str, Entry | Known]) -> None:
        """Whoever changes a run begins with its record."""
        for name in RECORDS:
            found, before = self.store.find(name), expected.get(name)
            if (found and found.mark) != (before and before.mark):
                raise BusyRunError(
                    f"another segvote wrote to {self.url} meanwhile; wait for it, then repeat the command"
                )

    def _check_room(self, n_bytes: int) -> None:
        free = shutil.disk_usage(self.holder).free
        if n_bytes > max(0, free - ROOM):
            raise BadInputError(
                f"{self.url} has {n_bytes / 1e9:.1f} GB to fetch, {self.holder.parent} has room for {free / 1e9:.1f}; "
                f"make room, or set {CACHE_VARIABLE} to a folder that has"
            )

    def _list_local(self) -> list[str]:
        """Paths below the mirror of all that is in it, sorted, hidden ones left out."""
        if self.path.is_file():
            return [""]
        paths = (Path(root, name) for root, _, names in os.walk(self.path) for name in names)
        return sorted(path.relative_to(self.path).as_posix() for path in paths if not path.name.startswith("."))

    def _list_unsent(self) -> list[str]:
        return [name for name in self._list_local() if self._is_unsent(name)]

    def _is_unsent(self, name: str) -> bool:
        """Whether the store has not got it as it is here; the content is looked at only where the time is another."""
        known, path = self._known.get(name), self.path / name
        if known is None:
            return True
        if _get_time(path) == known.written:
            return False
        time = _get_time(path)
        if _hash(path) != known.sha256:
            return True
        self._known[name] = replace(known, written=time)
        return False

    def _forget(self, names: Iterable[str]) -> None:
        for name in names:
            (self.path / name).unlink(missing_ok=True)
            self._known.pop(name, None)

    @contextlib.contextmanager
    def _keep_list(self) -> Iterator[None]:
        try:
            yield
        finally:  # after Ctrl-C, too: what is done is done
            self._write_list()

    def _write_list(self) -> None:
        files = {name: asdict(known) for name, known in sorted(self._known.copy().items())}
        write_json(self._list_path, {"url": self.url, "files": files})

    def _read_list(self) -> None:
        """What is known; nothing, where the list is damaged: then everything is compared anew."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.address.note_path.is_file():
            write_text(self.address.note_path, self.url)
        with contextlib.suppress(SegvoteError, OSError, KeyError, AttributeError, TypeError):
            files: dict[str, Any] = read_json(self._list_path)["files"]
            self._known = {name: read_fields(Known, entry, self._list_path) for name, entry in files.items()}


def _check_claim(names: Iterable[str], url: str) -> None:
    """Refuse a folder of something else before all of that is fetched."""
    names = list(names)
    if "" in names:
        raise BadInputError(f"{url} is a file; a run wants a folder")
    if names and not set(RECORDS) & set(names):
        raise BadInputError(
            f"{url} is not empty and holds no run (but {names[0]!r:.80}); give the folder of a run, or an empty one"
        )


def _is_record(name: str) -> bool:
    return name.rpartition("/")[2] in RECORDS


def _hash(path: Path) -> str:
    """SHA-256 of any file, an empty one too."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _get_time(path: Path) -> str:
    return str(path.stat().st_mtime_ns)


def _write_doubted(source: Path, target: Path) -> None:
    record = read_json(source)
    fields = record.items() if isinstance(record, dict) else ()
    write_json(target, {**{name: value for name, value in fields if name != CHECKSUM}, "complete": False})


@contextlib.contextmanager
def _open_pool(n_threads: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """A ``map`` that does many at once; what is not begun when something fails is left."""
    if n_threads == 1:
        yield map
        return
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            yield pool.map
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
