"""The local mirror of a folder in a store: what it has is fetched, what was written here is sent, each once.

A mirror lies in the cache folder, beside a list of what is known of its files. Of two versions the store's counts; one
that was never sent is put aside, not lost. The records of a run are sent last, and say before anything else is changed
that the run is not complete.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from segvote.errors import BadInputError, BusyRunError, UnwritableFileError
from segvote.io.atomic import atomic_path, write_text
from segvote.io.locks import hold_folder
from segvote.io.records import CHECKSUM
from segvote.io.remote.addresses import CACHE_VARIABLE, Address
from segvote.io.remote.known_files import Known, KnownFiles, get_time, hash_any_file
from segvote.io.remote.stores import Entry, Store
from segvote.io.tables import read_json, write_json

__all__ = ["Mirror"]

# The files that say whose a folder is and whether it is complete.
RECORDS = ("run.json", "classes.json", "predictions.json")
# Differ between equal runs, and decide nothing.
REMARKS = {"log.jsonl", "report.html"}
# Seconds after which the list of what is known is written anew: so much is done again after a kill.
NOTE_EVERY = 5.0
ROOM = 100_000_000  # bytes that a fetch leaves free

# step, done, total
Report = Callable[[str, int, int], None]


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
        self._files = KnownFiles(self.path, self.holder / "known.json")
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
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnwritableFileError(
                f"cannot write to {self.holder} ({error.strerror}); set {CACHE_VARIABLE} to one that can be written"
            ) from error
        with hold_folder(self.holder):
            yield

    def fetch(self, report: Report, is_run: bool = False, leave_out: Sequence[str] = ()) -> None:
        """Make the mirror as the store is; inside of `lock`.

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
        self._open_list()
        own = set(self._files.list_unsent()) if is_run else set()
        entries = {name: one for name, one in listed.items() if not name.startswith(tuple(leave_out))}
        missing = [name for name, entry in entries.items() if not self._files.has(name, entry, is_run)]
        self._check_room(sum(entries[name].size for name in missing))
        with self._files.kept():
            # First: what was a file may be a folder now.
            self._files.forget(self._list_gone(listed, is_run, own))
            self._carry_out(missing, lambda name: self._fetch_one(name, entries[name], name in own), "fetch", report)
        if missing and is_run:
            self._check_alone(listed)
        own -= set(missing) - self._news
        if (own - REMARKS) and (self._news - REMARKS):
            self._doubt_records()
        self._there = set(self._files.list_local())

    def send(self, report: Report) -> None:
        """Bring what changed here to the store; the records last, so that half of it is never taken for whole."""
        local, changed = self._files.list_local(), self._files.list_unsent()
        deleted = sorted(self._there - set(local))
        if not changed and not deleted:
            return
        self._check_alone(self._files.by_name)
        self.store.remove_leftovers()
        records = sorted(filter(_is_record, local), key=lambda name: (-name.count("/"), name))
        others = [name for name in changed if name not in records]
        with self._files.kept():
            if self._is_disturbed_by([*others, *deleted]):
                for name in reversed(records):
                    self._send_doubted(name)
            self._carry_out(others, self._send_one, "send", report)
            self._carry_out(deleted, self._remove_one, "remove", report)
            for name in filter(self._files.is_unsent, records):
                self._send_one(name)
        self._there = set(local)

    def _open_list(self) -> None:
        if not self.address.note_path.is_file():
            write_text(self.address.note_path, self.url)
        self._files.read()

    def _list_gone(self, listed: Mapping[str, Entry], is_run: bool, own: set[str]) -> list[str]:
        """What the store had once and has no more; files of a run that it never had are on their way to it."""
        gone = [name for name in self._files.list_local() if name not in listed]
        return [name for name in gone if not is_run or (name in self._files.by_name and name not in own)]

    def _is_disturbed_by(self, names: Sequence[str]) -> bool:
        """Whether the run in the store is not whole while these are on their way: it is new, or one is changed."""
        known = self._files.by_name
        is_new = not any(name in known for name in RECORDS)
        return is_new or any(name in known and name not in REMARKS for name in names)

    def _fetch_one(self, name: str, entry: Entry, is_own: bool) -> None:
        path = self.path / name
        with atomic_path(path, durable=False) as temporary:
            self.store.fetch(name, entry, temporary)
            digest = hash_any_file(temporary)
            if not path.is_file() or hash_any_file(path) != digest:
                self._news.add(name)
                if is_own and path.is_file():
                    self._put_aside(name)
        self._files.note(name, entry, digest, get_time(path))

    def _put_aside(self, name: str) -> None:
        aside = self.holder / "replaced" / name
        aside.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self.path / name, aside)

    def _send_one(self, name: str) -> None:
        path = self.path / name
        written, digest = get_time(path), hash_any_file(path)
        self._files.note(name, self.store.send(path, name), digest, written)

    def _send_doubted(self, name: str) -> None:
        """The record, saying that the run is not complete; the true one follows when all else is there."""
        doubted = self.holder / "doubted.json"
        _write_doubted(self.path / name, doubted)
        self._files.note(name, self.store.send(doubted, name), hash_any_file(doubted), "")
        self._files.write()

    def _remove_one(self, name: str) -> None:
        self.store.remove(name)
        self._files.by_name.pop(name, None)

    def _doubt_records(self) -> None:
        """Part of it is ours, part of it another's: what was complete may not fit together any more."""
        for name in filter(_is_record, self._files.list_local()):
            _write_doubted(self.path / name, self.path / name)

    def _carry_out(self, names: Sequence[str], act: Callable[[str], None], step: str, report: Report) -> None:
        if not names:
            return
        report(step, 0, len(names))
        noted = time.monotonic()
        with _open_pool(self.store.n_at_once) as run_all:
            for done, _ in enumerate(run_all(act, names), start=1):
                if time.monotonic() - noted > NOTE_EVERY:
                    self._files.write()
                    noted = time.monotonic()
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


def _check_claim(listed: Mapping[str, Entry], url: str) -> None:
    """Refuse a folder of something else before all of that is fetched."""
    if "" in listed:
        raise BadInputError(f"{url} is a file; a run wants a folder")
    if listed and not set(RECORDS) & set(listed):
        raise BadInputError(
            f"{url} is not empty and holds no run (but {next(iter(listed))!r:.80}); give the folder of a run, or an "
            "empty one"
        )


def _is_record(name: str) -> bool:
    return name.rpartition("/")[2] in RECORDS


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
