"""How the masks of a run are drawn, kept beside its model: ``model/drawing.json``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from msgspec import Struct

from segvote.errors import DamagedFileError
from segvote.io.tables import convert_record, read_json, write_json
from segvote.masks import WAYS, Drawing
from segvote.masks.lines import FILTERS
from segvote.run.run_folder import RunFolder

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
