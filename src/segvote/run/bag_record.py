"""What `run.json` says of one bag."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from segvote.errors import BadInputError, DamagedFileError
from segvote.io.exports.base import check_name
from segvote.io.records import read_fields
from segvote.run.run_folder import RunFolder
from segvote.types import WITH, WITHOUT

__all__ = ["BagRecord", "is_inside", "read_bag"]


KEY = re.compile(r"[0-9a-f]{0,64}")  # names of files by content


@dataclass(frozen=True)
class BagRecord:
    """What `run.json` says of one bag.

    Attributes
    ----------
    name, tag, stem
        The bag's name; ``with`` or ``without``; the name of its output files.
    digest, segments, features
        SHA-256 of the image; keys of its segments and features.
    height, width, n_segments
        Displayed size; number of segments.
    n_selected, area
        Segments taken as object, and the share of the image that the mask covers.
    score, threshold, doubt
        Mean score of the selected segments (of the best segment for a *without* bag: its false alarm); the score above
        which segments were taken; 0 sure to 1 in doubt.
    n_frames
        Frames of a video; 0 for an image.
    muted
        Whether the bag had no say: it is *without*, and looks as if it showed the thing.
    """

    name: str
    tag: str
    stem: str
    digest: str
    segments: str
    features: str
    height: int
    width: int
    n_segments: int
    n_selected: int
    area: float
    score: float
    threshold: float
    doubt: float
    n_frames: int = 0
    muted: bool = False


def read_bag(entry: dict[str, Any], folder: RunFolder) -> BagRecord:
    """A bag of the record, if nothing in it leads out of the folders it belongs to: runs are handed around."""
    bag = read_fields(BagRecord, entry, folder.record_path)
    names = all(map(is_inside, (bag.name, bag.stem))) and bag.name.split("/", 1)[0] in (WITH, WITHOUT)
    keys = all(map(KEY.fullmatch, (bag.digest, bag.segments, bag.features)))
    sizes = min(bag.height, bag.width, bag.n_segments) >= 1 and min(bag.n_frames, bag.n_selected) >= 0
    if not (names and keys and sizes and bag.tag in (WITH, WITHOUT)):
        raise DamagedFileError(f"{folder.record_path}: the entry of {bag.name!r:.80} is damaged; annotate again")
    return bag


def is_inside(name: str) -> bool:
    """Whether a name stays below the folder it is joined to."""
    try:
        return bool(check_name(name))
    except BadInputError:
        return False
