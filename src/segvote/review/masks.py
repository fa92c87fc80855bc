"""Masks and instances as an export would write them now, drawn on demand and packed for the page."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache

import cv2
import numpy as np
from scipy import ndimage

from segvote.errors import BadInputError, SegvoteError
from segvote.io.images import resize_labels
from segvote.pipeline.drawing.images import draw_stored
from segvote.pipeline.strokes import Canvas, label_instances, lay_over
from segvote.review.encoding import scale_bag
from segvote.review.snapshot import Snapshot
from segvote.run.correction_log import Action
from segvote.run.run import Run
from segvote.selection import make_selection

# Longest sides of the masks that the page is sent.
PAGE_SIZE, THUMB_SIZE = 1600, 240
# Drawn masks, a bit per pixel, and canvases of painted pixels at the size of the image, that are kept.
MAX_MASKS, MAX_CANVASES = 256, 4


def draw_segments(run: Run, snapshot: Snapshot, bag: int) -> np.ndarray:
    """(h, w) bool, at working size or larger: the decided segments drawn in the way of the run, before painted pixels.

    Videos are exported in whole segments; here that is the mask of the frame shown.
    """
    record, labels, part = run.bags[bag], run.read_segments(bag)["labels"], snapshot.get_slice(bag)
    scores, selected, threshold = snapshot.scores[part], snapshot.selected[part], float(snapshot.thresholds[bag])
    if record.n_frames:
        return selected[labels]
    heat, size = scale_bag(snapshot, bag).astype(np.float32), max(record.height, record.width)
    selection = make_selection(scores, selected, threshold, snapshot.user_labels[part])
    arrays = selection, labels, heat
    return draw_stored(run.folder, record.segments, run.find_image(bag), *arrays, run.drawing, size)


def measure_redrawn(run: Run, snapshot: Snapshot) -> np.ndarray:
    """(n_bags,) one minus the IoU of the written masks, which are redrawn along edges, with the decided segments.

    0 for bags whose mask cannot be read, and for all where masks are lines, which differ from segments by design.
    """
    unlike = np.zeros(len(snapshot.positive))
    for bag in np.flatnonzero(snapshot.positive & (run.drawing.way == "regions")):
        labels = run.read_segments(int(bag))["labels"]
        try:
            mask = resize_labels(run.read_mask(int(bag)), labels.shape)
        except (SegvoteError, OSError):
            continue
        decided = snapshot.selected[snapshot.get_slice(int(bag))][labels]
        unlike[bag] = 1 - (mask & decided).sum() / max((mask | decided).sum(), 1)
    return unlike


def fit_size(size: tuple[int, ...], longest: int) -> tuple[int, int]:
    """(height, width) in the ratio of `size`, the longer side at most `longest`."""
    height, width = size
    scale = min(1.0, longest / max(height, width))
    return max(1, round(height * scale)), max(1, round(width * scale))


def encode_mask(mask: np.ndarray) -> bytes:
    """A mask: height and width as uint32, then one bit per pixel, rows joined, the first pixel highest."""
    head = np.array(mask.shape, dtype="<u4").tobytes()
    return head + np.packbits(mask).tobytes()


class Masks:
    """Masks of a run, drawn when asked for, one at a time; safe to use from several threads."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._drawing = threading.Lock()
        # One bit per pixel, and the shape.
        self._kept: dict[tuple[int, int], tuple[np.ndarray, tuple[int, ...]]] = {}
        self._get_canvas = lru_cache(MAX_CANVASES)(lambda bag: Canvas((run.bags[bag].height, run.bags[bag].width)))

    def draw(self, snapshot: Snapshot, strokes: Sequence[Action], bag: int) -> np.ndarray:
        """(height, width) bool at the size of the image, with *set* and *paint* actions on it, the oldest first."""
        record = self.run.bags[bag]
        with self._drawing:
            mask = resize_labels(self._draw_segments(snapshot, bag), (record.height, record.width))
            if record.n_frames or not any(stroke.kind == "paint" for stroke in strokes):
                return mask
            canvas = self._get_canvas(bag)
            canvas.show(strokes)
            return canvas.override(mask)

    def _draw_segments(self, snapshot: Snapshot, bag: int) -> np.ndarray:
        # Nothing that the mask of a bag depends on changes without this number changing.
        key = (bag, int(snapshot.touched_at[bag]))
        if key not in self._kept:
            drawn = draw_segments(self.run, snapshot, bag)
            self._kept[key] = (np.packbits(drawn), drawn.shape)
            if len(self._kept) > MAX_MASKS:
                del self._kept[next(iter(self._kept))]
        bits, (height, width) = self._kept[key]
        return np.unpackbits(bits, count=height * width).astype(bool).reshape(height, width)

    def encode(self, snapshot: Snapshot, strokes: Sequence[Action], bag: int, longest: int = PAGE_SIZE) -> bytes:
        """The mask for the page, the longer side at most `longest`."""
        mask = self.draw(snapshot, strokes, bag)
        return encode_mask(resize_labels(mask, fit_size(mask.shape, longest)))

    def encode_small(self, snapshot: Snapshot, strokes: Sequence[Action], bag: int) -> bytes:
        """The mask for a thumbnail; by whole segments until it has been drawn and measured."""
        if snapshot.is_measured[bag]:
            return self.encode(snapshot, strokes, bag, THUMB_SIZE)
        record, labels = self.run.bags[bag], self.run.read_segments(bag)["labels"]
        small = resize_labels(labels, fit_size((record.height, record.width), THUMB_SIZE))
        return encode_mask(lay_over(snapshot.selected[snapshot.get_slice(bag)][small], strokes))

    def measure(self, snapshot: Snapshot, strokes: Sequence[Action], bag: int) -> tuple[float, float]:
        """Share of the image that the mask covers, and in which it differs from the mask on the disk.

        For a video, whose masks are whole segments, the estimates of the snapshot.
        """
        if self.run.bags[bag].n_frames:
            return float(snapshot.covered[bag]), float(snapshot.change[bag])
        mask = self.draw(snapshot, strokes, bag)
        # As `run.json` rounds it: page and report show the same number.
        covered = round(int(np.count_nonzero(mask)) / mask.size, 6)
        written = self.run.read_mask(bag)
        return covered, float(np.mean(mask != written)) if written.shape == mask.shape else 1.0


# Most instances that are sent to the page; a fragmented mask may have more.
MAX_LISTED = 1000


def check_divides(mask: np.ndarray, divisions: Sequence[Action], cut: Action, objects: str = "pieces") -> None:
    """Reject a cut that divides no instance of a mask (h, w) with these divisions."""
    both = (label_instances(mask, several, objects) for several in (divisions, [*divisions, cut]))
    before, after = (instances.max(initial=0) for instances in both)
    if after <= before:
        raise BadInputError("the line divides no object; draw it through one, from edge to edge")


def find_joined(instances: np.ndarray, places: np.ndarray) -> np.ndarray:
    """(h, w) bool: the instances (h, w) under places (n, 2), x and y, at least two."""
    columns, rows = np.floor(places).astype(int).T
    inside = (rows >= 0) & (columns >= 0) & (rows < instances.shape[0]) & (columns < instances.shape[1])
    chosen = np.unique(instances[rows[inside], columns[inside]])
    chosen = chosen[chosen > 0]
    if len(chosen) < 2:
        raise BadInputError(f"expected places on at least two objects; got {len(chosen)}; look again, then join")
    return np.isin(instances, chosen)


def measure_instances(instances: np.ndarray) -> np.ndarray:
    """(n, 7) area; left, top, width, height; x and y of the pixel deepest inside, for each number from 1 of (h, w)."""
    rows = []
    for number, (vertical, horizontal) in enumerate(ndimage.find_objects(instances)[:MAX_LISTED], start=1):
        own = np.pad(instances[vertical, horizontal] == number, 1)
        depth = cv2.distanceTransform(own.astype(np.uint8), cv2.DIST_L2, 3)
        row, column = np.unravel_index(np.argmax(depth), depth.shape)
        left, top = horizontal.start, vertical.start
        box = (left, top, horizontal.stop - left, vertical.stop - top)
        rows.append((np.count_nonzero(own), *box, left + column - 1, top + row - 1))
    return np.array(rows, dtype=np.uint32).reshape(-1, 7)


def encode_instances(instances: np.ndarray) -> bytes:
    """Instances (h, w) as bytes.

    Height and width of the map, number of listed instances, number of all (4 x uint32); `measure_instances` of each
    listed one (7 x uint32); then one uint16 per pixel of the map, 0 where no listed one is.
    """
    measured = measure_instances(instances)
    shown = resize_labels(instances, fit_size(instances.shape, PAGE_SIZE))
    shown = np.where(shown <= len(measured), shown, 0).astype("<u2")
    head = np.array([*shown.shape, len(measured), instances.max(initial=0)], dtype="<u4")
    return head.tobytes() + measured.astype("<u4").tobytes() + shown.tobytes()
