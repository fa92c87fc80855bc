"""The run folder: its files, its lock, and its record.

Segments and features are stored under a key made of the image's content and of every parameter that changes them, so
equal work is never done twice and a change of parameters cannot meet a stale file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from segvote.errors import BadInputError, DamagedFileError, UnwritableFileError
from segvote.io.files import explain_failure, hold_folder, is_leftover, refuse_links
from segvote.io.stores import name_path_or_uri
from segvote.io.tables import convert_record, format_json, read_json, write_json
from segvote.masks import OBJECTS, WAYS, Drawing
from segvote.masks.lines import FILTERS
from segvote.run.record import RunRecord, find_near


class _Owner(Struct):
    """The fields that ``classes.json`` and ``predictions.json`` have from the beginning."""

    input: str
    near_input: str = ""


def make_key(**parameters: Any) -> str:
    """Hash of parameters as 32 hexadecimal digits."""
    return hashlib.sha256(format_json(parameters, indent=None).encode()).hexdigest()[:32]


def add_sum(record: Struct) -> dict[str, Any]:
    """The fields of a record with their checksum."""
    data: dict[str, Any] = to_builtins(record)
    return {**data, "sha256": make_key(**data)}


def check_sum(data: Any, path: Path) -> Any:
    """Refuse the content of a record whose checksum is that of another; one without a checksum is read as it is."""
    if isinstance(data, dict) and "sha256" in data:
        data = dict(data)
        if data.pop("sha256") != make_key(**data):
            raise DamagedFileError(
                f"{path}: expected the content that segvote wrote, but its checksum is that of another; restore the "
                "file, or annotate into another folder"
            )
    return data


class RunFolder:
    """Paths and record of one run.

    Bags are named by bag label and path below their folder (``with/sub/cow 1.jpg``), with forward slashes.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.record_path = self.path / "run.json"
        self.classes_path = self.path / "classes.json"  # of a run on several classes
        self.votes_path = self.path / "votes" / "votes.npz"
        self.extents_path = self.path / "votes" / "extents.npz"
        self.alternatives_path = self.path / "votes" / "alternatives.npz"
        self.neighbours_path = self.path / "votes" / "neighbours.npz"
        self.coco_path = self.path / "annotations.coco.json"
        self.report_path = self.path / "report.html"
        self.log_path = self.path / "log.jsonl"
        self.model_path = self.path / "model"
        self.corrections_path = self.path / "review.sqlite"
        self.exported_path = self.path / "exported.json"

    def segments_path(self, key: str) -> Path:
        return self.path / "segments" / f"{key}.npz"

    def features_path(self, key: str) -> Path:
        return self.path / "features" / f"{key}.npz"

    def scores_path(self, key: str) -> Path:
        """Scores, votes and selected segments of a bag that did not vote, by the key of its features."""
        return self.path / "votes" / "predicted" / f"{key}.npz"

    def mask_path(self, stem: str) -> Path:
        return self.path / "masks" / f"{stem}.png"

    def heatmap_path(self, stem: str) -> Path:
        return self.path / "heatmaps" / f"{stem}.jpg"

    def read_record(self) -> RunRecord:
        """Read and validate ``run.json``."""
        if not self.record_path.is_file():
            self._refuse_classes()
            raise BadInputError(
                f"{self.path} is not a run folder (no run.json); give the -o folder of `segvote annotate`"
            )
        refuse_links(self.path)
        record = convert_record(check_sum(read_json(self.record_path), self.record_path), RunRecord, self.record_path)
        return replace(record, inputs=record.inputs.find_near(self.path))

    def _refuse_classes(self) -> None:
        """Raise an error that names the runs of a run on several classes."""
        names = sorted(path.parent.name for path in self.path.glob("classes/*/run.json"))
        if self.classes_path.is_file() and names:
            more = f", or of {', '.join(names[1:])}" if names[1:] else ""
            raise BadInputError(
                f"{self.path} is a run on several classes; give the folder of one: {self.path / 'classes' / names[0]}"
                f"{more}"
            )

    def write_record(self, record: RunRecord) -> None:
        write_json(self.record_path, add_sum(replace(record, inputs=record.inputs.write_near(self.path))))

    def is_claimed(self, record_path: Path, otherwise: str) -> bool:
        """Whether an earlier call left its record at `record_path`; a folder of something else is an error.

        `otherwise` goes into the error, such as "not a run folder".
        """
        if self.path.exists() and not self.path.is_dir():
            raise BadInputError(f"{self.path} is no folder; -o wants a folder")
        if record_path.is_file() or not self.path.exists():
            return record_path.is_file()
        names = sorted(entry.name for entry in self.path.iterdir())
        # A command writes these before its record.
        others = [name for name in names if name not in (".lock", self.log_path.name) and not is_leftover(name)]
        if others:
            raise BadInputError(
                f"{self.path} is not empty and {otherwise} (it holds {others[0]}); choose another -o folder"
            )
        return False

    def check_input(self, record_path: Path, source: Path | str, otherwise: str, conflict: str) -> None:
        """Refuse a folder of something else, as `is_claimed` does, and one of another input than `source`."""
        if not self.is_claimed(record_path, otherwise):
            return
        owner = convert_record(read_json(record_path), _Owner, record_path)
        if find_near(owner.input, owner.near_input, self.path) != name_path_or_uri(source):
            raise BadInputError(f"{self.path} {conflict}; choose another -o folder")

    def log(self, **message: Any) -> None:
        """Append one line with the time; only this file may differ between equal runs."""
        with explain_failure(self.log_path):
            if self.log_path.exists() and not self.log_path.is_file():
                raise UnwritableFileError(f"{self.log_path} is no regular file; move it away and repeat the command")
            with self.log_path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(json.dumps({"time": round(time.time(), 3), **message}, default=str) + "\n")

    @contextlib.contextmanager
    def time_step(self, step: str) -> Iterator[None]:
        """Log how long a step took."""
        started = time.perf_counter()
        yield
        self.log(step=step, seconds=round(time.perf_counter() - started, 3))

    def lock(self) -> AbstractContextManager[None]:
        """Lock the folder for writing until the block or the process ends; others get `BusyRunError`."""
        return hold_folder(self.path)


# The drawing of the masks: model/drawing.json -------------------------------------------------------------------------

FILE_NAME = "drawing.json"


class _DrawingRecord(Struct, frozen=True, forbid_unknown_fields=True):
    key: str  # of the images and settings that it was chosen for
    drawing: dict[str, object]  # a `Drawing`


def write_drawing(run: RunFolder, key: str, drawing: Drawing) -> None:
    """Keep the drawing of the images and settings that `key` names."""
    write_json(run.model_path / FILE_NAME, _DrawingRecord(key, asdict(drawing)))


def read_drawing(folder: Path) -> Drawing:
    """The drawing of a model folder."""
    return _read(folder / FILE_NAME)[1]


def find_drawing(run: RunFolder, key: str) -> Drawing | None:
    """The drawing that was kept for the same images and settings, or None."""
    with contextlib.suppress(DamagedFileError):
        known, drawing = _read(run.model_path / FILE_NAME)
        return drawing if known == key else None
    return None


def _read(path: Path) -> tuple[str, Drawing]:
    if not path.is_file():
        raise DamagedFileError(f"{path} is missing; annotate again")
    record = convert_record(read_json(path), _DrawingRecord, path)
    drawing = convert_record(record.drawing, Drawing, path)
    chosen = (drawing.way, WAYS), (drawing.objects, OBJECTS)
    if any(name not in known or name == "auto" for name, known in chosen) or drawing.filter not in FILTERS:
        raise DamagedFileError(f"{path} holds no way of drawing that this version knows; annotate again")
    return record.key, drawing
