"""The run folder: where everything one `annotate` wrote lies, who may write, and the record of the run.

Segments and features are stored under a key made of the image's content and of every parameter that decides the answer,
so equal work is never done twice and a change of parameters cannot meet a stale file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from msgspec import Struct

from segvote.errors import BadInputError, DamagedFileError, UnwritableFileError
from segvote.io.files import explain_failure, hold_folder, is_leftover, refuse_links
from segvote.io.stores import name_path_or_uri
from segvote.io.tables import convert_record, format_json, read_json, write_json
from segvote.masks import WAYS, Drawing
from segvote.masks.lines import FILTERS
from segvote.run.record import RunRecord

CHECKSUM = "checksum"  # of a record, under this name in it


class _Owner(Struct):
    """What ``classes.json`` and ``predictions.json`` have from the beginning."""

    input: str


def make_key(**parameters: Any) -> str:
    """A short name that is the same exactly when the parameters are."""
    return hashlib.sha256(format_json(parameters, indent=None).encode()).hexdigest()[:32]


class RunFolder:
    """Paths and record of one run.

    Bags are named by bag label and path below their folder (``with/sub/cow 1.jpg``), with forward slashes.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.record_path = self.path / "run.json"
        self.votes_path = self.path / "votes" / "votes.npz"
        self.extents_path = self.path / "votes" / "extents.npz"
        self.neighbours_path = self.path / "votes" / "neighbours.npz"
        self.coco_path = self.path / "annotations.coco.json"
        self.report_path = self.path / "report.html"
        self.log_path = self.path / "log.jsonl"
        self.model_path = self.path / "model"
        self.corrections_path = self.path / "review.sqlite"

    def segments_path(self, key: str) -> Path:
        return self.path / "segments" / f"{key}.npz"

    def features_path(self, key: str) -> Path:
        return self.path / "features" / f"{key}.npz"

    def mask_path(self, stem: str) -> Path:
        return self.path / "masks" / f"{stem}.png"

    def heatmap_path(self, stem: str) -> Path:
        return self.path / "heatmaps" / f"{stem}.jpg"

    def read_record(self) -> RunRecord:
        """What was run, from what; a clear error where the folder is not a run folder."""
        if not self.record_path.is_file():
            self._refuse_classes()
            raise BadInputError(
                f"{self.path} is not a run folder (no run.json); give the -o folder of `segvote annotate`"
            )
        refuse_links(self.path.iterdir(), self.path)
        record = read_json(self.record_path)
        if isinstance(record, dict) and record.pop(CHECKSUM, None) not in (None, (now := _sum(record))):
            raise DamagedFileError(
                f"{self.record_path} is not as it was written; restore it, or write {now} for its {CHECKSUM} "
                "if it was you who changed it"
            )
        return convert_record(record, RunRecord, self.record_path)

    def _refuse_classes(self) -> None:
        """A run on several classes holds a run for each of them: say where."""
        names = sorted(path.parent.name for path in self.path.glob("classes/*/run.json"))
        if (self.path / "classes.json").is_file() and names:
            more = f", or of {', '.join(names[1:])}" if names[1:] else ""
            raise BadInputError(
                f"{self.path} is a run on several classes; give the folder of one: {self.path / 'classes' / names[0]}"
                f"{more}"
            )

    def write_record(self, record: RunRecord) -> None:
        """Write it with a checksum, by which damage is noticed."""
        plain = json.loads(format_json(record))  # as it will be read
        write_json(self.record_path, {**plain, CHECKSUM: _sum(plain)})

    def is_claimed(self, record_path: Path, otherwise: str) -> bool:
        """Whether the folder is that of an earlier call, which left its record at `record_path`.

        What is said of a folder of something else is `otherwise`: "not a run folder".
        """
        if self.path.exists() and not self.path.is_dir():
            raise BadInputError(f"{self.path} is no folder; -o wants a folder")
        if record_path.is_file() or not self.path.exists():
            return record_path.is_file()
        names = sorted(entry.name for entry in self.path.iterdir())
        # Files that a command leaves before its record belong to no run yet.
        others = [name for name in names if name not in (".lock", self.log_path.name) and not is_leftover(name)]
        if others:
            raise BadInputError(
                f"{self.path} is not empty and {otherwise} (it holds {others[0]}); choose another -o folder"
            )
        return False

    def check_input(self, record_path: Path, source: Path | str, otherwise: str, conflict: str) -> None:
        """Refuse a folder of something else, see `is_claimed`, or of another input than `source`: a `conflict`."""
        if not self.is_claimed(record_path, otherwise):
            return
        if convert_record(read_json(record_path), _Owner, record_path).input != name_path_or_uri(source):
            raise BadInputError(f"{self.path} {conflict}; choose another -o folder")

    def log(self, **message: Any) -> None:
        """Append one line with the time; the one file that may differ between equal runs."""
        with explain_failure(self.log_path):
            if self.log_path.exists() and not self.log_path.is_file():
                raise UnwritableFileError(f"{self.log_path} is no regular file; move it away and repeat the command")
            with self.log_path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"time": round(time.time(), 3), **message}, default=str) + "\n")

    @contextlib.contextmanager
    def time_step(self, step: str) -> Iterator[None]:
        """Log how long a step took."""
        started = time.perf_counter()
        yield
        self.log(step=step, seconds=round(time.perf_counter() - started, 3))

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder for writing; another process that tries meanwhile gets `BusyRunError`.

        The operating system lets go of the lock when the process ends, however it ends.
        """
        with hold_folder(self.path):
            yield


def _sum(record: dict[str, Any]) -> str:
    return hashlib.sha256(format_json(record).encode()).hexdigest()


# How the masks are drawn: model/drawing.json --------------------------------------------------------------------------

FILE_NAME = "drawing.json"


class _DrawingRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the file: for which images and settings it was chosen, and a `Drawing`."""

    key: str
    drawing: dict[str, object]


def write_drawing(run: RunFolder, key: str, drawing: Drawing) -> None:
    """Keep what was chosen for the images and settings that `key` names."""
    write_json(run.model_path / FILE_NAME, _DrawingRecord(key, asdict(drawing)))


def read_drawing(folder: Path) -> Drawing:
    """The drawing of a model folder."""
    return _read(folder / FILE_NAME)[1]


def find_drawing(run: RunFolder, key: str) -> Drawing | None:
    """What was chosen for the same images and settings before, corrections aside; None if it was not."""
    path = run.model_path / FILE_NAME
    if not path.is_file():
        return None
    try:
        known, drawing = _read(path)
    except DamagedFileError:
        return None
    return drawing if known == key else None


def _read(path: Path) -> tuple[str, Drawing]:
    if not path.is_file():
        raise DamagedFileError(f"{path} is missing; annotate again")
    record = convert_record(read_json(path), _DrawingRecord, path)
    drawing = convert_record(record.drawing, Drawing, path)
    if drawing.way not in WAYS or drawing.way == "auto" or drawing.line_model.filter not in FILTERS:
        raise DamagedFileError(f"{path} holds no way of drawing that this version knows; annotate again")
    return record.key, drawing
