"""What is known of the files of a mirror: which of them the store has as they are here, and which it has not got yet.

A file whose time is the one that was noted is the one that was noted; of any other the content is looked at.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from segvote.errors import SegvoteError
from segvote.io.records import read_fields
from segvote.io.regular_files import open_regular
from segvote.io.remote.stores import Entry
from segvote.io.tables import read_json, write_json

__all__ = ["Known", "KnownFiles", "get_time", "hash_any_file"]


@dataclass(frozen=True)
class Known:
    """A file as it was when the store and the mirror had the same.

    Attributes
    ----------
    size, mark
        As the store told them.
    sha256
        Of the content.
    written
        When, in nanoseconds; as text, for it has more digits than a number of JSON keeps. Empty: the store's differs.
    """

    size: int
    mark: str
    sha256: str
    written: str


class KnownFiles:
    """The files of a mirror.

    Parameters
    ----------
    folder
        The mirror; a file, where it mirrors one.
    list_path
        Where the list is kept.
    """

    def __init__(self, folder: Path, list_path: Path) -> None:
        self.folder, self._list_path = folder, list_path
        self.by_name: dict[str, Known] = {}

    def note(self, name: str, entry: Entry, sha256: str, written: str) -> None:
        """The store has it as it was here at that time."""
        self.by_name[name] = Known(entry.size, entry.mark, sha256, written)

    def list_local(self) -> list[str]:
        """Paths below the mirror of all that is in it, sorted, hidden ones left out."""
        if self.folder.is_file():
            return [""]
        paths = (Path(root, name) for root, _, names in os.walk(self.folder) for name in names)
        return sorted(path.relative_to(self.folder).as_posix() for path in paths if not path.name.startswith("."))

    def list_unsent(self) -> list[str]:
        """What is here and not, or not so, in the store."""
        return [name for name in self.list_local() if self.is_unsent(name)]

    def is_unsent(self, name: str) -> bool:
        """Whether the store has not got a file as it is here."""
        known, path = self.by_name.get(name), self.folder / name
        if known is None:
            return True
        written = get_time(path)
        if written == known.written:
            return False
        if hash_any_file(path) != known.sha256:
            return True
        self.by_name[name] = replace(known, written=written)
        return False

    def has(self, name: str, entry: Entry, may_differ: bool) -> bool:
        """Whether there is nothing to fetch; `may_differ`: what was changed here since is to stay."""
        known, path = self.by_name.get(name), self.folder / name
        if known is None or not entry.mark or (known.mark, known.size) != (entry.mark, entry.size):
            return False
        return path.is_file() and (may_differ or get_time(path) == known.written)

    def forget(self, names: Iterable[str]) -> None:
        """Delete files here, and the folders that are empty then."""
        for name in names:
            path = self.folder / name
            path.unlink(missing_ok=True)
            self.by_name.pop(name, None)
            with contextlib.suppress(OSError):  # up to the first that is not empty
                for folder in [*path.parents][: name.count("/")]:
                    folder.rmdir()

    def read(self) -> None:
        """Read the list; of one that is damaged nothing: then everything is compared anew."""
        with contextlib.suppress(SegvoteError, OSError, KeyError, AttributeError, TypeError):
            files: dict[str, Any] = read_json(self._list_path)["files"]
            self.by_name = {name: read_fields(Known, entry, self._list_path) for name, entry in files.items()}

    def write(self) -> None:
        """Write the list."""
        write_json(self._list_path, {"files": {name: asdict(known) for name, known in self.by_name.copy().items()}})

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Write the list at the end of the ``with``, after Ctrl-C too: what is done is done."""
        try:
            yield
        finally:
            self.write()


def get_time(path: Path) -> str:
    """When a file was written."""
    return str(path.stat().st_mtime_ns)


def hash_any_file(path: Path) -> str:
    """SHA-256 of a file, which need not be an image: an empty one has one, too."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
