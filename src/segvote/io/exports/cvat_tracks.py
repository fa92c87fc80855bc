"""CVAT for video 1.1: one track, in each frame the outline of the object's largest part.

CVAT follows outlines through a video, not masks; the masks themselves are in the run's ``masks`` folder.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

import cv2
import numpy as np

from segvote.io.atomic import atomic_path
from segvote.io.encodings.polygons import list_outlines
from segvote.io.exports.base import measure_box


class TrackFile:
    """Takes the masks of a video's frames in order; made by `open_track_file`."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._last = ""

    def add(self, frame: int, mask: np.ndarray) -> None:
        """Add the outline of frame `frame`, of a (h, w) bool mask; without one the track is outside the picture."""
        points = _outline_largest(mask)
        outside = int(not points)
        self._last = points or self._last
        if self._last:  # a track cannot begin outside the picture
            self._file.write(
                f'    <polygon frame="{frame}" keyframe="1" outside="{outside}" occluded="0" '
                f'points="{self._last}" z_order="0"></polygon>\n'
            )


def _outline_largest(mask: np.ndarray) -> str:
    """Points of the outline of the largest 8-connected region, of its largest 4-connected part; none without one."""
    if not mask.any():
        return ""
    left, top, width, height = measure_box(mask)
    inside = mask[top : top + height, left : left + width].astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(inside, connectivity=8)
    largest = labels == 1 + stats[1:, cv2.CC_STAT_AREA].argmax()
    ring = max(list_outlines(largest), key=len) + (left, top)
    return ";".join(f"{x}.00,{y}.00" for x, y in ring.tolist())


@contextlib.contextmanager
def open_track_file(path: Path, name: str, label: str, size: tuple[int, int]) -> Iterator[TrackFile]:
    """Write the track of one video, whole or not at all; `size` is (height, width) of its frames."""
    height, width = size
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n", errors="replace") as file:
        file.write(
            '<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n  <version>1.1</version>\n'
            f"  <meta><task><name>{escape(name)}</name><mode>interpolation</mode><overlap>0</overlap>"
            f"<labels><label><name>{escape(label)}</name><attributes></attributes></label></labels>"
            f"<original_size><width>{width}</width><height>{height}</height></original_size></task></meta>\n"
            f'  <track id="0" label={quoteattr(label)} source="auto">\n'
        )
        yield TrackFile(file)
        file.write("  </track>\n</annotations>\n")
