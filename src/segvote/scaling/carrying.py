"""Workers on other disks: an item is sent with the files it needs, its result comes back with the files it made.

What is sent is put below a folder of the worker's own under its full path, so that to find a file there is to prefix
its name, and to speak of it here is to take the prefix away.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from segvote.errors import SegvoteError
from segvote.io.atomic import write_bytes
from segvote.io.scratch import open_scratch
from segvote.run.run_folder import RunFolder

__all__ = ["Carrier", "Portable"]


class Portable(Protocol):
    """A function of bags that can work on another disk."""

    run: RunFolder

    def __call__(self, item: Any) -> Any: ...

    def list_files(self, item: Any) -> list[Path]:
        """All files that are read for an item."""
        ...

    def move(self, find: Callable[[Path], Path]) -> Self:
        """The same for folders that lie elsewhere."""
        ...


@dataclass(frozen=True)
class _Parcel:
    """An item or a result, and files by the full path that they have on the disk of the one who asks."""

    content: Any
    files: dict[str, bytes]


class Carrier:
    """Does for workers that see no folder of ours what `work_with` wants done.

    Parameters
    ----------
    run_on_all
        Yields ``function(item)`` for every item, in order, computed anywhere.
    """

    def __init__(self, run_on_all: Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]) -> None:
        self._run_on_all = run_on_all

    def __call__(self, function: Any, items: Sequence[Any]) -> Iterator[Any]:
        """Yield ``function(item)`` for every item, in order; the function is `Portable`."""
        # One by one, when its turn comes: only what is under way is in memory.
        parcels = (_Parcel(item, _read_files(function.list_files(item))) for item in items)
        for parcel in self._run_on_all(_FarWork(function), parcels):
            _write_files(parcel.files, function.run.path)
            yield parcel.content


@dataclass(frozen=True)
class _FarWork:
    """What a worker does with a parcel."""

    function: Portable

    def __call__(self, parcel: _Parcel) -> _Parcel:
        with open_scratch() as folder:
            disk = _Disk(folder.resolve())
            for path, data in parcel.files.items():
                write_bytes(disk.find(Path(path)), data, durable=False)
            function = self.function.move(disk.find)
            try:
                result = function(disk.move(parcel.content))
            except SegvoteError as error:
                raise type(error)(disk.speak(str(error))) from None
            made = [path for path in function.run.path.rglob("*") if path.is_file()]
            files = {disk.speak(str(path)): path.read_bytes() for path in made}
            new = {path: data for path, data in files.items() if path not in parcel.files}
            return _Parcel(disk.bring_back(result), new)


@dataclass(frozen=True)
class _Disk:
    """The disk of the one who asks, below a folder."""

    root: Path

    def find(self, path: Path) -> Path:
        return self.root / path.relative_to(path.anchor)

    def speak(self, text: str) -> str:
        return text.replace(f"{self.root}{os.sep}", self.root.anchor)

    def move(self, item: Any) -> Any:
        """The same with its paths below the folder."""
        return _change(item, lambda value: self.find(value) if isinstance(value, Path) else value)

    def bring_back(self, result: Any) -> Any:
        """The same with its paths, and all that speaks of them, as they were."""
        return _change(result, lambda value: type(value)(self.speak(str(value))))


def _change(value: Any, change: Callable[[Any], Any]) -> Any:
    """Paths and texts of a dataclass, and of those in it, changed."""
    if isinstance(value, Path | str):
        return change(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
        return dataclasses.replace(value, **{name: _change(one, change) for name, one in fields.items()})
    return value


def _read_files(paths: Iterable[Path]) -> dict[str, bytes]:
    """What can be read of them: who misses one says so itself."""
    files = {}
    for path in paths:
        with contextlib.suppress(OSError):
            files[str(path)] = path.read_bytes()
    return files


def _write_files(files: dict[str, bytes], folder: Path) -> None:
    for name, data in files.items():
        if not Path(name).is_relative_to(folder) or ".." in Path(name).parts:
            raise SegvoteError(f"expected files of {folder} from a worker, got {name!r:.80}; trust no such worker")
        write_bytes(name, data, durable=False)
