"""The segment truth of 151 shots of YouTube-Objects (Tang, Sukthankar, Yagnik, Fei-Fei 2013), behind the paper's table.

The shots were over-segmented in space and time, and every segment was labelled as concept or background. How the files
were published was not found: this is our reading, beside the frames of v1.0::

    CLASS/data/VIDEO/shots/SHOT/frame0001.jpg       frames, as in v1.0
    CLASS/data/VIDEO/shots/SHOT/segments/0001.png   number of the segment of every pixel: 8 or 16 bits, or a colour each
    CLASS/data/VIDEO/shots/SHOT/labels.txt          lines "NUMBER LABEL": 1 concept, 0 background, -1 neither

A colour (r, g, b) is the number r + 256 g + 65536 b. Segments that no line names are ignored. Shots without labels are
not among the 151: they are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from segvote.datasets.base import DataSet, find_folder, oppose_classes
from segvote.datasets.public import Readers, list_shots, match_frames
from segvote.errors import BadInputError
from segvote.io.decoding import open_picture
from segvote.io.masks import BACKGROUND, IGNORE, OBJECT

MEANING = {1: OBJECT, 0: BACKGROUND, -1: IGNORE}


def load_tang(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load the labelled shots, in our reading of their layout."""
    folder = find_folder(root, "*/data/*/shots/*/labels.txt")
    by_class = list_shots(folder, "", _find_masks)
    labelled = {name: [item for item in items if item.masks] for name, items in by_class.items()}
    return oppose_classes("tang-segments", {name: items for name, items in labelled.items() if items}, class_name)


def _find_masks(shot: Path, frames: Sequence[Path]) -> dict[str, Readers]:
    labels = shot / "labels.txt"
    if not labels.is_file():
        return {}
    masks = match_frames(frames, shot / "segments", partial(_read_segment_mask, labels=labels))
    if not masks:
        raise BadInputError(f"{shot}: expected segments/NUMBER.png for some of its {len(frames)} frames; got none")
    return {"masks": masks}


def _read_segment_mask(path: Path, labels: Path) -> np.ndarray:
    known = read_segment_labels(labels)
    numbers, places = np.unique(read_segment_numbers(path), return_inverse=True)
    values = np.array([MEANING[known.get(int(number), -1)] for number in numbers], dtype=np.uint8)
    return values[places].reshape(places.shape)


def read_segment_numbers(path: Path) -> np.ndarray:
    """(h, w) int64: the number of the segment of every pixel."""
    with open_picture(path) as picture:
        values = np.asarray(picture if picture.mode != "P" else picture.convert("RGB")).astype(np.int64)
    return values if values.ndim == 2 else values[:, :, :3] @ np.array([1, 256, 65536])


def read_segment_labels(path: Path) -> dict[int, int]:
    """Number of a segment to its label: 1, 0 or -1; ``#`` begins a comment."""
    labels = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if parts := line.split("#")[0].split():
            try:
                number, label = map(int, parts)
                MEANING[label]
            except (ValueError, KeyError) as error:
                raise BadInputError(
                    f"{path}: expected lines 'NUMBER 1', 'NUMBER 0' or 'NUMBER -1'; got {line!r:.60}"
                ) from error
            labels[number] = label
    return labels
