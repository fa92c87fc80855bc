"""Runs whose folders all lie in stores: each task, wherever it runs, reads and writes the store itself.

A task fetches its image, and the segments that it needs, into a scratch folder, does what it does on a disk, sends the
files that it wrote, and last a record below ``.done``: where the record is, the files are. Between the processes go
names and small results. The process that was started has sparse copies of the folders, whose files are fetched when
they are read; a call on any machine uses the records of earlier ones.
"""

from __future__ import annotations

import contextlib
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct, structs

from segvote import __version__
from segvote.errors import BadInputError, UnwritableFileError
from segvote.inputs.bags import Bag, Source
from segvote.io.files import hold_folder, open_scratch, write_text
from segvote.io.leases import Lease, hold_lease
from segvote.io.names import check_name
from segvote.io.objects import BATCH, Store, StoreError, Version, is_placeholder, is_transient, write_placeholder
from segvote.io.picture_formats import split_view
from segvote.io.stores import LocalCopy, is_uri, name_path_or_uri
from segvote.pipeline.blocks import Row, make_failed
from segvote.pipeline.extract import BagExtractor, make_segments_key
from segvote.pipeline.image_task import ImagePredictor, NewImage
from segvote.pipeline.write import MaskWriter, WriteTask, WrittenMask
from segvote.progress import Progress
from segvote.run.run_folder import RunFolder, make_key

Item = TypeVar("Item", Source, Bag, WriteTask, NewImage)
DONE = ".done"  # folder of the records, one for each task
LENT = ".model"  # folder of a model that lies in no store
# Raised when records change: old ones are then not used.
DONE_VERSION = 1
# Folders of a run that are fetched as a whole: small, and written by the process that was started.
FETCHED = ("model", "votes")
# Settings by which files are listed as bags.
LISTING = ("pages", "window", "frames", "every", "fps", "draw")
N_NAMED = 5  # images that an error names


class Done(Struct, frozen=True):
    """The record of a task: the key of its input, the files that it needs or wrote, and its result."""

    key: str
    files: list[str]
    result: Any


@dataclass(frozen=True)
class StoredItem(Generic[Item]):
    """An item with the names of the objects that a task needs for it; sent to a worker."""

    item: Item
    root: Path  # the folder of the image, in the copy of the process that was started
    images: tuple[str, ...]  # the image, or the frames of a video, below that folder
    uri: str  # of that folder
    files: tuple[str, ...]  # of the run
    record: str = ""  # its name; empty where none is kept
    key: str = ""
    is_old: bool = False  # whether the store has a record of another key


@dataclass(frozen=True)
class Outcome:
    """What a task returns: its result, the names of the files that it wrote; or why the store failed."""

    result: Any = None
    written: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, eq=False)
class StoredTask:
    """A task on one item of a run folder, done on objects of a store."""

    function: Callable[[Any], Any]
    store: Store  # of the run

    def __call__(self, given: StoredItem[Any]) -> Outcome:
        try:
            with open_scratch() as scratch:
                return self._work(given, RunFolder(scratch / "run"), scratch / "images")
        except (StoreError, UnwritableFileError) as error:
            if isinstance(error, UnwritableFileError) and not is_transient(error.__cause__):
                raise  # a full store, no permission: no other task can write either
            return Outcome(problem=str(error))

    def find_finished(self, items: Sequence[StoredItem[Any]]) -> list[Outcome]:
        """Outcomes of the first items whose records were written since they were submitted; see `Resumable`."""
        found: list[Outcome] = []
        with contextlib.suppress(StoreError):  # then they are done again
            for given in items:
                is_new = given.record and not given.is_old
                done = read_done(self.store.read(f"{DONE}/{given.record}"), given) if is_new else None
                if done is None:
                    break
                result, files = done
                found.append(Outcome(result, tuple(name for name in files if name not in given.files)))
        return found

    def _work(self, given: StoredItem[Any], run: RunFolder, images: Path) -> Outcome:
        Store(given.uri).get(given.images, images)
        self.store.get(given.files, run.path)
        before = _list_files(run.path)
        found = move_task(self.function, run)(move_item(given.item, given.root, images))
        result = restore_result(found, images, given)
        after = _list_files(run.path)
        written = [name for name in after if after[name] != before.get(name)]
        if given.is_old:
            self.store.delete(f"{DONE}/{given.record}")
        self.store.put(written, run.path)
        if given.record and not _list_failures(result):
            record = Done(given.key, [*after], dump_result(result, given.root))
            self.store.write(f"{DONE}/{given.record}", msgspec.json.encode(record))
        return Outcome(result, tuple(written))


def read_done(data: bytes | None, given: StoredItem[Any]) -> tuple[Any, list[str]] | None:
    """Result and files of the record of an item; None where there is none, or it is damaged or has another key."""
    with contextlib.suppress(ValueError, TypeError):
        done = msgspec.json.decode(data or b"", type=Done)
        return (load_result(done.result, given), done.files) if done.key == given.key else None
    return None


def move_task(function: Any, run: RunFolder) -> Any:
    """The same task on another run folder."""
    if isinstance(function, RunFolder):
        return run
    if isinstance(function, partial):
        return partial(function.func, *(move_task(one, run) for one in function.args))
    return replace(function, run=run) if isinstance(function, BagExtractor | MaskWriter | ImagePredictor) else function


def move_item(item: Any, root: Path, folder: Path) -> Any:
    """The same item with its image in another folder."""
    if isinstance(item, Source):
        return Source(item.bag_label, folder, folder / item.path.relative_to(root))
    if isinstance(item, NewImage):
        return replace(item, bag=move_item(item.bag, root, folder))
    if isinstance(item, WriteTask):
        return replace(item, image_path=folder / item.image_path.relative_to(root))
    return replace(item, path=folder / item.path.relative_to(root))


def restore_result(result: Any, images: Path, given: StoredItem[Any]) -> Any:
    """A result with the paths of the process that was started, and addresses in what it says."""

    def name(text: str) -> str:
        return text.replace(str(images), given.uri)

    if isinstance(result, list) and all(isinstance(one, Bag) for one in result):
        return [restore_result(one, images, given) for one in result]
    if isinstance(result, Bag):
        moved = move_item(result, images, given.root)
        return replace(moved, problem=name(result.problem), warning=name(result.warning))
    if isinstance(result, Row):
        return structs.replace(result, problem=name(result.problem))
    return result._replace(problem=name(result.problem)) if isinstance(result, WrittenMask) else result


def dump_result(result: Any, root: Path) -> Any:
    """A result as JSON knows it; paths are those below the folder of the images."""
    if isinstance(result, WrittenMask | Row):
        return result
    bags = result if isinstance(result, list) else [result]
    return [{**asdict(bag), "path": bag.path.relative_to(root).as_posix()} for bag in bags]


def load_result(data: Any, given: StoredItem[Any]) -> Any:
    """The result that `dump_result` wrote, for an item of now; `ValueError` where it cannot be one."""
    if isinstance(given.item, WriteTask):
        return msgspec.convert(data, WrittenMask)
    if isinstance(given.item, NewImage):
        return msgspec.convert(data, Row)
    found = msgspec.convert(data, list[Bag], dec_hook=lambda kind, path: given.root / check_name(path))
    if isinstance(given.item, Source):
        return found
    [bag] = found
    return replace(bag, bag_label=given.item.bag_label)


def _list_failures(result: Any) -> list[str]:
    """Problems of a result, which a later call tries again."""
    results = result if isinstance(result, list) else [result]
    return [one.problem for one in results if isinstance(one, Bag | WrittenMask | Row) and one.problem]


def _list_files(folder: Path) -> dict[str, tuple[int, int]]:
    """Name below a folder to time and size; without the log, which is that of the process that was started."""
    found = {path.relative_to(folder).as_posix(): path.stat() for path in folder.rglob("*") if path.is_file()}
    found.pop(RunFolder(folder).log_path.name, None)
    return {name: (found[name].st_mtime_ns, found[name].st_size) for name in sorted(found)}


class StoredRun:
    """The tasks of one call on a run in a store; see `segvote.pipeline.workers.Tasks`."""

    def __init__(self, out: LocalCopy, inputs: Sequence[LocalCopy], lease: Lease, progress: Progress) -> None:
        self.out, self.inputs, self.lease, self.progress = out, inputs, lease, progress
        self.is_shared = not out.uri.startswith("memory:")  # other processes have a memory of their own
        self._names = set(out.listed)
        self._records = set(Store(f"{out.uri}/{DONE}").list())
        self._segments: dict[str, list[str]] = defaultdict(list)
        self._index(self._names)

    def run_all(
        self,
        function: Callable[[Any], Any],
        items: Sequence[Any],
        start: Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]],
    ) -> Iterator[Any]:
        """Results in the order of the items; `start` is the parallel map, for those that have no record."""
        packed = [self._pack(function, item) for item in items]
        known = self._find_done(packed)
        missing = [replace(one, is_old=one.record in self._records) for one in packed if one.record not in known]
        outcomes, failed = start(StoredTask(function, self.out.store), missing), []
        for one in packed:
            if one.record in known:
                yield known[one.record]
                continue
            outcome = next(outcomes)
            self._note(outcome, one)
            if not outcome.problem:
                yield outcome.result
            elif isinstance(one.item, Source | NewImage) or isinstance(function, BagExtractor):
                yield _fail(one.item, outcome.problem)
            else:
                failed.append(f"{_name_item(one.item)}: {outcome.problem}")
        if failed:
            raise StoreError(_describe_failed(failed))

    def save(self) -> None:
        """Send what was written here to the store."""
        self.lease.renew()
        self.lease.check()
        self.out.send(self.progress)

    def send(self, paths: Sequence[Path]) -> None:
        """Send some files of the run now."""
        self.lease.check()
        self.out.put([path.relative_to(self.out.path).as_posix() for path in paths])

    def lend(self, folder: Path) -> str:
        """Address of a folder that tasks read: its own, or that of a copy beside the records."""
        uri = name_path_or_uri(folder)
        if is_uri(uri):
            return uri
        lent = Store(f"{self.out.uri}/{LENT}")
        lent.put(sorted(path.name for path in folder.iterdir() if path.is_file()), folder)
        return lent.uri

    def describe(self, path: Path) -> list[Version | None]:
        """The versions of an image, or of the frames of a video."""
        root = path.parent
        return self._list_versions(root, _list_images(path, root))

    def fetch(self, paths: Sequence[Path]) -> None:
        """Fetch files of the run that are only in the store, many at a time."""
        names = [path.relative_to(self.out.path).as_posix() for path in paths if is_placeholder(path)]
        if names:
            self.out.listed = self.out.store.list()
            for start in range(0, len(names), BATCH):
                self.progress("get", start, len(names))
                self.out.get(names[start : start + BATCH])
            self.progress("get", len(names), len(names))

    def _pack(self, function: Any, item: Any) -> StoredItem[Any]:
        path = item.image_path if isinstance(item, WriteTask) else item.path
        root = item.folder if isinstance(item, Source) else path.parent
        images = _list_images(path, root)
        segments = item.record.segments if isinstance(item, WriteTask) else getattr(item, "segments_key", "")
        files = tuple(self._segments.get(segments, ())) if segments else ()
        record, key = self._name_record(function, item, images)
        return StoredItem(item, root, images, self._name_uri(root), files, record, key)

    def _name_uri(self, folder: Path) -> str:
        """Address of a folder of images."""
        copy, below = self._find_copy(folder)
        return "/".join([copy.uri, *below.parts])

    def _find_copy(self, folder: Path) -> tuple[LocalCopy, Path]:
        """The copy that holds a folder of images, and where it is there."""
        return next((one, folder.relative_to(one.path)) for one in self.inputs if folder.is_relative_to(one.path))

    def _list_versions(self, folder: Path, images: Sequence[str]) -> list[Version | None]:
        copy, below = self._find_copy(folder)
        return [copy.listed.get((below / name).as_posix()) for name in images]

    def _name_record(self, function: Any, item: Any, images: Sequence[str]) -> tuple[str, str]:
        """Name and key of the record of a task; both empty where none is kept."""
        if getattr(_find_extractor(function), "label_maps", None) is not None:
            return "", ""
        if isinstance(item, Source):
            versions = self._list_versions(item.folder, images)
            key = _make_key("source", images=images, label=item.bag_label, versions=versions, **_name_task(function))
            return f"{key}.json", key
        if isinstance(function, BagExtractor) and item.digest:
            segments = make_segments_key(item, function.settings)
            key = _make_key("bag", name=item.name, segments=segments, features=function.name_features(segments))
            return f"{key}.json", key
        if isinstance(function, ImagePredictor):
            content = {"path": item.path.name, "versions": self._list_versions(item.path.parent, images)}
            key = _make_key("predict", name=item.bag.name, stem=item.stem, model=function.model.key, **content)
            return f"{key}.json", key
        if isinstance(function, MaskWriter):
            name = _make_key("mask", stem=item.record.stem)
            return f"{name}.json", _make_key("mask", task=_hash_task(function, item))
        return "", ""

    def _find_done(self, packed: Sequence[StoredItem[Any]]) -> dict[str, Any]:
        """Name of the record to result of the tasks that are done."""
        found, recorded = {}, {one.record: one for one in packed if one.record in self._records}
        for record, data in Store(f"{self.out.uri}/{DONE}").read_many([*recorded]):
            done = read_done(data, recorded[record])  # a damaged record is written again
            if done is not None and self._names.issuperset(done[1]):
                found[record] = done[0]
        return found

    def _note(self, outcome: Outcome, given: StoredItem[Any]) -> None:
        """Put placeholders in the place of the files that a task wrote."""
        self.lease.check()
        for name in outcome.written:
            (self.out.path / name).parent.mkdir(parents=True, exist_ok=True)
            write_placeholder(self.out.path / name)
        self._index({*outcome.written} - self._names)
        self._names.update(outcome.written)
        if given.record and not outcome.problem:
            self._records.add(given.record)

    def _index(self, names: set[str]) -> None:
        for name in sorted(names):
            if name.startswith("segments/"):
                self._segments[name.split("/")[1].partition(".")[0]].append(name)


def _list_images(path: Path, root: Path) -> tuple[str, ...]:
    """Names below a folder of an image, or of the frames of a video."""
    source, _ = split_view(path)
    paths = sorted(one for one in source.rglob("*") if one.is_file()) if source.is_dir() else [source]
    return tuple(one.relative_to(root).as_posix() for one in paths)


def _find_extractor(function: Any) -> BagExtractor | None:
    """The extractor of a task on a source or a bag."""
    parts = function.args if isinstance(function, partial) else [function]
    return next((one for one in parts if isinstance(one, BagExtractor)), None)


def _name_task(function: Any) -> dict[str, Any]:
    """What the bags of a source depend on, besides its content; `function` is `extract_source` with its parameters."""
    settings, extractor = function.args
    listing = {name: getattr(settings, name) for name in LISTING}
    if extractor is None:
        return {"listing": listing}
    nothing = Bag("", "", Path("a.png"), "")
    key = extractor.name_features(make_segments_key(nothing, settings))
    return {"listing": listing, "task": key, "size": settings.feature_options.get("size")}


def _make_key(kind: str, **parameters: Any) -> str:
    return make_key(version=DONE_VERSION, kind=kind, **parameters)


def _hash_task(writer: MaskWriter, task: WriteTask) -> str:
    """Hash of all that the mask and the heat map of an image depend on."""
    selection = {name: [str(array.dtype), array.tolist()] for name, array in vars(task.selection).items()}
    return make_key(
        version=__version__,
        record=msgspec.to_builtins(task.record),
        selection=selection,
        heat=task.heat.tolist(),
        strokes=msgspec.to_builtins(list(task.strokes)),
        divisions=msgspec.to_builtins(list(task.divisions)),
        drawing=asdict(writer.drawing),
        label=writer.settings.label,
        size=writer.settings.size,
    )


def _name_item(item: Bag | WriteTask) -> str:
    return item.record.name if isinstance(item, WriteTask) else item.name


def _fail(item: Source | Bag | NewImage, problem: str) -> Any:
    """The result for an image that the store did not give."""
    if isinstance(item, NewImage):
        return make_failed(item.bag, problem)
    if isinstance(item, Bag):
        return replace(item, problem=problem)
    return [
        Bag(f"{item.bag_label}/{item.path.relative_to(item.folder).as_posix()}", item.bag_label, item.path, "", problem)
    ]


def _describe_failed(failed: Sequence[str]) -> str:
    more = f"; and {len(failed) - N_NAMED} more" if len(failed) > N_NAMED else ""
    return (
        f"{len(failed)} images failed, the others are done: {'; '.join(failed[:N_NAMED])}{more}; repeat the command, "
        "which continues with them"
    )


# Opening --------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def open_stored(inputs: Sequence[str], out: str, progress: Progress) -> Iterator[StoredRun]:
    """Hold a run folder in a store, and sparse copies of the folders of images; send the run at the end."""
    copies = [LocalCopy(uri) for uri in inputs]
    target = LocalCopy(out)
    with hold_folder(target.state):
        for copy in copies:
            with hold_folder(copy.state):
                copy.fetch(progress, lambda name: True)
            if not copy.path.is_dir():
                raise BadInputError(f"expected a folder of images, found nothing at {copy.uri}; check the address")
        with hold_lease(target.store, _name_owner(target.state / "owner")) as lease:
            target.fetch(progress, _is_left)
            run = StoredRun(target, copies, lease, progress)
            with target.keep_unsent():
                yield run
                run.save()


def _is_left(name: str) -> bool:
    """Whether a file of a run is fetched only when it is read."""
    return "/" in name and name.partition("/")[0] not in FETCHED


def _name_owner(path: Path) -> str:
    """The name of this copy among the machines that use a store."""
    if not path.is_file():
        write_text(path, secrets.token_hex(16))
    return path.read_text(encoding="utf-8")
