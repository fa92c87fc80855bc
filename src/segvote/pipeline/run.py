"""A finished run, opened for reading: bags, masks, scores, annotations, each read when asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from segvote.errors import BadInputError, DamagedFileError
from segvote.io.arrays import read_arrays
from segvote.io.exports.base import check_name
from segvote.io.images import read_image
from segvote.io.masks import read_mask
from segvote.io.records import read_fields
from segvote.io.run_folder import RunFolder
from segvote.io.tables import read_json
from segvote.pipeline.inputs import Inputs
from segvote.pipeline.settings import Settings
from segvote.pipeline.video_frames import get_poster_path
from segvote.types import WITH, WITHOUT, Annotation, Part

__all__ = ["BagRecord", "Run", "read_settings"]

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


class Run:
    """A run folder as Python sees it.

    Parameters
    ----------
    folder
        The ``-o`` folder of `segvote annotate`.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = RunFolder(folder)
        self.record: dict[str, Any] = self.folder.read_record()
        if not self.record.get("complete"):
            raise BadInputError(f"the run in {self.folder.path} is not finished; repeat the same `segvote annotate`")
        self.settings = read_settings(self.record.get("settings"), self.folder)
        self.bags = [_read_bag(entry, self.folder) for entry in self.record["bags"]]

    def __len__(self) -> int:
        return len(self.bags)

    def __repr__(self) -> str:
        n_with = sum(bag.tag == WITH for bag in self.bags)
        return f"<Run {self.folder.path}: {n_with} with, {len(self) - n_with} without, voter {self.settings.voter}>"

    def _repr_html_(self) -> str:
        from segvote.pipeline.notebook import format_run

        return format_run(self)

    @cached_property
    def inputs(self) -> Inputs:
        """Where the images lie."""
        return Inputs.from_record(self.record.get("inputs", {}))

    @cached_property
    def offsets(self) -> np.ndarray:
        """(n_bags + 1,) where each bag's segments begin in the flat arrays."""
        return np.concatenate([[0], np.cumsum([bag.n_segments for bag in self.bags])]).astype(np.int64)

    @cached_property
    def votes(self) -> dict[str, np.ndarray]:
        """Flat arrays over all segments: scores, votes, weights, decisions; and thresholds per bag."""
        arrays = read_arrays(self.folder.votes_path)
        if len(arrays.get("scores", ())) != self.offsets[-1]:
            raise DamagedFileError(f"{self.folder.votes_path} does not belong to this run.json; annotate again")
        return arrays

    def get_slice(self, index: int) -> slice:
        return slice(int(self.offsets[index]), int(self.offsets[index + 1]))

    def find(self, name: str) -> int:
        """Number of a bag by its name, its file name, or its stem."""
        names = [(bag.name, bag.stem, bag.name.rsplit("/", 1)[-1], bag.stem.rsplit("/", 1)[-1]) for bag in self.bags]
        found = [index for index, known in enumerate(names) if name in known]
        if len(found) != 1:
            raise BadInputError(f"expected the name of one image of the run; {name!r} fits {len(found)} of them")
        return found[0]

    def read_segments(self, index: int) -> dict[str, np.ndarray]:
        """Label map, tree and geometry of a bag, as `describing` wrote them."""
        return read_arrays(self.folder.segments_path(self.bags[index].segments))

    def read_mask(self, index: int) -> np.ndarray:
        """(h, w) bool at the displayed size."""
        return read_mask(self.folder.mask_path(self.bags[index].stem)) == 255

    def find_image(self, index: int) -> Path:
        """Where the picture lies; of a video, one of its frames that the run keeps to show."""
        bag = self.bags[index]
        return get_poster_path(self.folder, bag.segments) if bag.n_frames else self.find_source(index)

    def find_source(self, index: int) -> Path:
        """The user's own file, or folder of frames; never copied into the run."""
        # By the name, not by the tag: a person may have moved the bag, the file stays where it is.
        return self.inputs.find_source(self.bags[index].name)

    def read_image(self, index: int) -> np.ndarray:
        return read_image(self.find_image(index))

    def to_coco(self) -> dict[str, Any]:
        """The run's COCO file, parsed: images, annotations with run lengths, categories."""
        return read_json(self.folder.coco_path)  # type: ignore[no-any-return]

    def to_supervision(self) -> Any:
        """A ``supervision.DetectionDataset`` of all images, if that package is installed."""
        from segvote.pipeline.handover import make_supervision_dataset

        return make_supervision_dataset(self.list_annotations(), [self.settings.label])

    def to_table(self) -> list[dict[str, Any]]:
        """One row per bag, the fields of `BagRecord`; ``pandas.DataFrame`` takes it as it is."""
        return [asdict(bag) for bag in self.bags]

    def list_annotations(self) -> Iterator[Annotation]:
        """One annotation per image and per frame of a video, read one at a time."""
        for index in range(len(self)):
            yield from self.list_bag_annotations(index)

    def list_bag_annotations(self, index: int) -> Iterator[Annotation]:
        """The annotation of an image, or those of a video's frames."""
        from segvote.pipeline.video_writing import list_frame_annotations

        bag = self.bags[index]
        if bag.n_frames:
            yield from list_frame_annotations(self.folder, bag, self.find_source(index), self.settings.label)
        else:
            yield make_annotation(bag, self.read_mask(index), self.settings.label, self.find_image(index))


def make_annotation(bag: BagRecord, mask: np.ndarray, label: str, image_path: Path | None) -> Annotation:
    """The annotation of a bag; a bag with an empty mask has no parts."""
    parts = (Part(label, mask, bag.score),) if mask.any() else ()
    return Annotation(bag.name, bag.height, bag.width, parts, image_path=image_path)


def read_settings(data: Any, folder: RunFolder) -> Settings:
    """Settings as a record keeps them; one that this version does not know is named."""
    return read_fields(Settings, data, folder.record_path)


def _read_bag(entry: dict[str, Any], folder: RunFolder) -> BagRecord:
    """A bag of the record, if nothing in it leads out of the folders it belongs to: runs are handed around."""
    bag = read_fields(BagRecord, entry, folder.record_path)
    names = all(map(_is_inside, (bag.name, bag.stem))) and bag.name.split("/", 1)[0] in (WITH, WITHOUT)
    keys = all(map(KEY.fullmatch, (bag.digest, bag.segments, bag.features)))
    sizes = min(bag.height, bag.width, bag.n_segments) >= 1 and min(bag.n_frames, bag.n_selected) >= 0
    if not (names and keys and sizes and bag.tag in (WITH, WITHOUT)):
        raise DamagedFileError(f"{folder.record_path}: the entry of {bag.name!r:.80} is damaged; annotate again")
    return bag


def _is_inside(name: str) -> bool:
    try:
        return bool(check_name(name))
    except BadInputError:
        return False
