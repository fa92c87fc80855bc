"""The folder of this machine in which the files of an address are worked on: fetched before, sent back after.

A list beside it tells what was fetched and sent, so that neither is done twice. The record of a run goes last, so that
half of a run is never taken for whole. While the copy of a run holds work that was not sent, it is not fetched again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from segvote.errors import BadInputError, BusyRunError, SegvoteError, UnwritableFileError
from segvote.io.atomic import write_text
from segvote.io.locks import hold_folder
from segvote.io.remote.addresses import CACHE_VARIABLE, NOTE, clean_url, find_holder
from segvote.io.remote.store import Store, Version
from segvote.io.tables import read_json, write_json
from segvote.progress import Progress

# The files that say whose a folder is and whether it is complete.
RECORDS = ("run.json", "classes.json", "predictions.json")
BATCH = 64  # files between two reports of progress


class LocalCopy:
    """The local copy of a folder, or of a file, in a store; given by its address."""

    def __init__(self, url: str) -> None:
        self.url, self.holder = clean_url(url), find_holder(url)
        self.path = self.holder / "files" / self.url.rpartition("/")[2]
        self._store = Store(self.url)
        self._list_path = self.holder / "files.json"
        self._sending_path = self.holder / "sending"  # there while a send is under way, or was killed
        self._noted: dict[str, tuple[Version, str]] = {}  # the version of the store, and when it was written here

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
            write_text(self.holder / NOTE, self.url)
            self._noted = self._read_list()
            try:
                yield
            finally:
                write_json(self._list_path, self._noted, indent=None)

    def fetch(self, report: Progress, leave_out: Sequence[str] = ()) -> None:
        """Fetch files of another version than was noted, delete those that are gone; `leave_out` names folders."""
        listed, local = self._store.list_files(), self._list_local()
        if any(name in local for name in RECORDS) and self._list_unsent(local):
            self._check_alone(listed)
            return
        wanted = [name for name in listed if not name.startswith(tuple(leave_out))]
        missing = {name for name in wanted if not self._has(name, listed[name])}
        if missing:
            missing |= set(RECORDS) & set(listed)
        self._forget([name for name in self._noted if name not in listed or name in missing])
        for batch in _report_batches(missing, "fetch", report):
            self._store.get({name: self.path / name for name in batch})
            self._note(batch, listed)

    def send(self, report: Progress) -> None:
        """Bring what changed here to the store, and take away there what was deleted here."""
        listed, local = self._store.list_files(), self._list_local()
        unsent = self._list_unsent(local)
        if not unsent:
            return
        self._check_alone(listed)
        records, deleted = set(RECORDS) & set(local), unsent - set(local)
        self._sending_path.touch()
        for name in (set(RECORDS) | deleted) & set(listed):  # a kill from here on leaves a run without a record there
            self._store.remove(name)
        changed = (unsent | records) - deleted
        for batch in _report_batches(changed, "send", report):
            self._store.put({name: local[name] for name in batch})
        self._note(changed, self._store.list_files())
        self._forget(deleted)
        write_json(self._list_path, self._noted, indent=None)
        self._sending_path.unlink()

    def _list_unsent(self, local: Mapping[str, Path]) -> set[str]:
        """What was written or deleted here since it was fetched or sent."""
        same = {name for name, path in local.items() if name in self._noted and self._noted[name][1] == _get_time(path)}
        return (set(local) | set(self._noted)) - same

    def _check_alone(self, listed: Mapping[str, Version]) -> None:
        """Whoever changes a run in the store changes its record."""
        if any(
            listed.get(name, []) != self._noted.get(name, ([],))[0] and not self._sent(name, listed) for name in RECORDS
        ):
            raise BusyRunError(
                f"another segvote wrote to {self.url} since it was fetched; delete {self.holder} to go on with what is "
                "there, or give another -o folder"
            )

    def _sent(self, name: str, listed: Mapping[str, Version]) -> bool:
        """Whether it was a send of this machine, killed before it could be noted, that took or put a record there."""
        if not self._sending_path.exists():
            return False
        if name not in listed:
            return True
        there = self.holder / "record-there.json"
        self._store.get({name: there})
        return (self.path / name).is_file() and there.read_bytes() == (self.path / name).read_bytes()

    def _has(self, name: str, version: Version) -> bool:
        is_noted = name in self._noted and self._noted[name][0] == version
        return is_noted and len(version) > 1 and (self.path / name).is_file()

    def _note(self, names: Iterable[str], listed: Mapping[str, Version]) -> None:
        """Here and there is the same now."""
        for name in names:
            path = self.path / name
            if path.stat().st_size != listed.get(name, [-1])[0]:
                raise BadInputError(f"{self.url}/{name} did not arrive whole; repeat the command")
            self._noted[name] = (listed[name], _get_time(path))

    def _forget(self, names: Iterable[str]) -> None:
        """Delete files here, and the folders that are empty then: what was a file may be a folder now."""
        for name in names:
            (self.path / name).unlink(missing_ok=True)
            self._noted.pop(name, None)
            with contextlib.suppress(OSError):  # up to the first that is not empty
                for folder in [*(self.path / name).parents][: name.count("/")]:
                    folder.rmdir()

    def _list_local(self) -> dict[str, Path]:
        """Path below the folder to where it is, hidden ones left out."""
        paths = [Path(root, name) for root, _, names in os.walk(self.path) for name in names]
        named = {path.relative_to(self.path).as_posix(): path for path in paths if not path.name.startswith(".")}
        return named or ({"": self.path} if self.path.is_file() else {})

    def _read_list(self) -> dict[str, tuple[Version, str]]:
        """Of a list that is damaged nothing: then everything is fetched anew."""
        with contextlib.suppress(SegvoteError, OSError, AttributeError, TypeError, ValueError):
            return {name: (version, written) for name, (version, written) in read_json(self._list_path).items()}
        return {}


def _get_time(path: Path) -> str:
    """When a file was written, in nanoseconds; as text, for it has more digits than a number of JSON keeps."""
    return str(path.stat().st_mtime_ns)


def _report_batches(names: Collection[str], step: str, report: Progress) -> Iterator[list[str]]:
    """Names in batches, the records in the last; each is reported when it is done."""
    others, done = sorted(name for name in names if name not in RECORDS), 0
    records = [name for name in RECORDS if name in names]
    for batch in filter(None, [*(others[i : i + BATCH] for i in range(0, len(others), BATCH)), records]):
        yield batch
        done += len(batch)
        report(step, done, len(names))
