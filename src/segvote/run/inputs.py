"""Where the images of a run lie: two folders, folders that were added since, names that were removed.

An image that was added is called as it would be if it lay in the first folder: a run to which images were added equals
a run on all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from msgspec import Meta, Struct, field, structs, to_builtins

from segvote.errors import BadInputError
from segvote.io.names import encode_name, is_path_name
from segvote.io.picture_formats import Reading, split_view
from segvote.io.stores import find_local_path, name_path_or_uri
from segvote.io.tables import convert_record
from segvote.run.bags import Bag, check_shared, list_all_bags, list_names, list_unsorted_bags
from segvote.types import WITH, WITHOUT

BagLabel = Annotated[str, Meta(pattern=rf"^({WITH}|{WITHOUT})\Z")]


class Addition(Struct, frozen=True, forbid_unknown_fields=True):
    """A folder that was added to a run."""

    bag_label: BagLabel  # of its images
    folder: str
    prefix: str = ""  # put before their names, where they would meet others of the same name; usually empty

    def name(self, below: str) -> str:
        """The name of a bag by its path below the folder."""
        return "/".join(filter(None, [self.bag_label, self.prefix, below]))

    def find(self, name: str) -> Path | None:
        """Where a bag of that name would lie, or None where it cannot be of this folder."""
        start = self.name("") + "/"
        return find_local_path(self.folder) / name.removeprefix(start) if name.startswith(start) else None


class Inputs(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """All sources of a run: ``inputs`` of `run.json`.

    Attributes
    ----------
    with_folder, without_folder : str
        Those that `annotate` was given.
    added : tuple of Addition
        In the order in which they came.
    removed : tuple of str
        Names of bags that are listed no more, sorted.
    """

    with_folder: str = field(name=WITH)
    without_folder: str = field(name=WITHOUT)
    added: tuple[Addition, ...] = ()
    removed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for folder in (*self.folders.values(), *(one.folder for one in self.added)):
            if not is_path_name(folder):
                raise ValueError(f"{folder!r:.80} is a name that no folder can have")

    @property
    def folders(self) -> dict[str, str]:
        """Bag label to the folder that `annotate` was given."""
        return {WITH: self.with_folder, WITHOUT: self.without_folder}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Inputs:
        """Read what `to_record` wrote."""
        return convert_record(record, cls, "inputs of run.json")

    def to_record(self) -> dict[str, Any]:
        """For `run.json`; additions and removals only where there are any."""
        return to_builtins(self)  # type: ignore[no-any-return]

    def find_source(self, name: str) -> Path:
        """The user's own file, or folder of frames."""
        bag_label, below = name.split("/", 1)
        first = find_local_path(self.folders[bag_label]) / below
        paths = [first, *filter(None, (one.find(name) for one in self.added))]
        return next((path for path in paths if split_view(path)[0].exists()), first)

    def list_bags(self, frames: str = "auto", reading: Reading | None = None) -> list[Bag]:
        """All bags, *with* first, each sorted by name, as in a run on two folders with the same images in them."""
        bags = list_all_bags(
            find_local_path(self.folders[WITH]), find_local_path(self.folders[WITHOUT]), frames, reading
        )
        for one in self.added:
            found = list_unsorted_bags(find_local_path(one.folder), frames, reading)
            bags += [replace(bag, name=one.name(bag.name), bag_label=one.bag_label) for bag in found]
        _check_names(bags)
        kept = sorted(
            (bag for bag in bags if bag.name not in self.removed), key=lambda bag: (bag.bag_label != WITH, bag.name)
        )
        for bag_label in (WITH, WITHOUT):
            if not any(bag.bag_label == bag_label for bag in kept):
                raise BadInputError(f"no *{bag_label}* image is left; a vote needs both kinds, keep one at least")
        check_shared(kept)
        return kept

    def list_names(self, frames: str = "auto", reading: Reading | None = None) -> list[str]:
        """Names of all bags, those that were removed too; no image is read."""
        sources = [*(Addition(bag_label, folder) for bag_label, folder in self.folders.items()), *self.added]
        return [
            one.name(below) for one in sources for below in list_names(find_local_path(one.folder), frames, reading)
        ]

    def add(self, bag_label: str, folder: Path, frames: str = "auto", reading: Reading | None = None) -> Inputs:
        """The same with one more folder; one that was added already is added once, one that overlaps is refused."""
        folder = folder.resolve()
        if any((bag_label, name_path_or_uri(folder)) == (one.bag_label, one.folder) for one in self.added):
            return self  # a command that was killed, repeated
        _check_apart(folder, [*self.folders.values(), *(one.folder for one in self.added)])
        taken = {*self.list_names(frames, reading), *self.removed}
        below = list_names(folder, frames, reading)
        prefixes = ("", folder.name, f"{folder.name}-{len(self.added)}")
        tries = [Addition(bag_label, name_path_or_uri(folder), prefix) for prefix in prefixes]
        fitting = [one for one in tries if not taken & {one.name(name) for name in below}]
        if not fitting:
            raise BadInputError(f"{folder} holds images that are called like others of the run; rename the folder")
        return structs.replace(self, added=(*self.added, fitting[0]))

    def remove(self, names: Iterable[str], frames: str = "auto", reading: Reading | None = None) -> Inputs:
        """The same without some bags, by name, file name, or either without its extension."""
        return structs.replace(self, removed=tuple(sorted({*self.removed, *self._find_names(names, frames, reading)})))

    def restore(self, names: Iterable[str], frames: str = "auto", reading: Reading | None = None) -> Inputs:
        """The same with bags that were removed once."""
        found = self._find_names(names, frames, reading)
        return structs.replace(self, removed=tuple(name for name in self.removed if name not in found))

    def _find_names(self, names: Iterable[str], frames: str, reading: Reading | None) -> set[str]:
        """Names of bags, removed or not: a command that was killed and is repeated finds them as it left them."""
        wanted = list(names)
        known = sorted({*self.list_names(frames, reading), *self.removed}) if wanted else []
        return {_find_name(name, known) for name in wanted}


def _find_name(wanted: str, names: Sequence[str]) -> str:
    if wanted in names:
        return wanted
    found = [name for name in names if wanted in {*_list_spellings(name), *_list_spellings(encode_name(name))}]
    if len(found) != 1:
        raise BadInputError(f"expected the name of one image of the run; {wanted!r} fits {len(found)} of them")
    return found[0]


def _list_spellings(name: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    return name, path.name, path.stem, str(path.with_suffix(""))


def _check_apart(folder: Path, others: Sequence[str]) -> None:
    for other in map(find_local_path, others):
        if folder == other or folder in other.parents or other in folder.parents:
            raise BadInputError(f"{folder} and {other}, which is part of the run, share images; give another folder")


def _check_names(bags: Sequence[Bag]) -> None:
    seen: dict[str, Path] = {}
    for bag in bags:
        if bag.name in seen:
            raise BadInputError(f"{seen[bag.name]} and {bag.path} are both called {bag.name} now; rename one of them")
        seen[bag.name] = bag.path
