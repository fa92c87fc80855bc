"""The entry of one bag in `run.json`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from segvote.errors import BadInputError, DamagedFileError
from segvote.io.exports.base import check_name
from segvote.io.records import is_path_name, read_fields
from segvote.run.run_folder import RunFolder
from segvote.types import WITH, WITHOUT

# What the fields were called in runs of earlier versions.
OLD_NAMES = {"tag": "bag_label", "doubt": "uncertainty", "muted": "excluded"}


KEY = re.compile(r"[0-9a-f]{0,64}")  # names of files by content


@dataclass(frozen=True)
class BagRecord:
    """The entry of one bag in `run.json`.

    Attributes
    ----------
    name, bag_label, stem
        The bag's name; ``with`` or ``without``; the name of its output files.
    digest, segments, features
        SHA-256 of the image; keys of its segments and features.
    height, width, n_segments
        Displayed size; number of segments.
    n_selected, area
        Segments selected as object, and the share of the image that the mask covers.
    score, threshold, uncertainty
        Mean score of the selected segments (of the best segment for a *without* bag); the score above
        which segments are selected; 0 certain to 1 uncertain.
    n_frames
        Frames of a video; 0 for an image.
    excluded
        Whether the bag was excluded from the vote: it is *without* and likely mislabelled.
    """

    name: str
    bag_label: str
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
    uncertainty: float
    n_frames: int = 0
    excluded: bool = False

    @property
    def has_mask(self) -> bool:
        """Whether the mask is not empty; pixels that a user painted need no selected segment."""
        return bool(self.n_selected or self.area)


def read_bag(entry: dict[str, Any], folder: RunFolder) -> BagRecord:
    """A bag of the record, if nothing in it leads out of the folders it belongs to: runs are handed around."""
    bag = read_fields(BagRecord, entry, folder.record_path, OLD_NAMES)
    names = all(map(is_inside, (bag.name, bag.stem))) and bag.name.split("/", 1)[0] in (WITH, WITHOUT)
    keys = all(map(KEY.fullmatch, (bag.digest, bag.segments, bag.features)))
    sizes = min(bag.height, bag.width, bag.n_segments) >= 1 and min(bag.n_frames, bag.n_selected) >= 0
    if not (names and keys and sizes and bag.bag_label in (WITH, WITHOUT)):
        raise DamagedFileError(f"{folder.record_path}: the entry of {bag.name!r:.80} is damaged; annotate again")
    return bag


def is_inside(name: str) -> bool:
    """Whether a name is that of a file, and stays below the folder it is joined to."""
    try:
        return is_path_name(check_name(name))
    except BadInputError:
        return False
