"""The mask a person would get: one decision redrawn as the export draws it, packed for the page."""

from __future__ import annotations

import gzip
import threading
from collections import OrderedDict

import numpy as np

from segvote.errors import SegvoteError
from segvote.io.images import resize_labels
from segvote.masks.drawing import draw_mask_along
from segvote.review.encoding import scale_bag
from segvote.review.state import Snapshot
from segvote.run.run import Run
from segvote.steps.superpixels import fetch_pieces

__all__ = ["Masks", "draw_shown", "encode_mask", "measure_redrawn"]

MAX_REMEMBERED = 64


def draw_shown(run: Run, snapshot: Snapshot, bag: int) -> np.ndarray:
    """(h, w) bool at working size: the mask that an export at this moment would write.

    Videos are exported in whole segments; here that is the mask of the frame shown.
    """
    labels = run.read_segments(bag)["labels"]
    part = snapshot.get_slice(bag)
    decisions, fixed = snapshot.decisions[part], snapshot.fixed[part]
    if run.bags[bag].n_frames or not run.settings.n_superpixels or not decisions.any():
        return decisions[labels]
    cut = fetch_pieces(
        run.folder, run.bags[bag].segments, run.settings.n_superpixels, labels, lambda: run.read_image(bag)
    )
    heat = scale_bag(snapshot, bag).astype(np.float32)
    return draw_mask_along(cut, labels, heat, decisions, fixed, labels.shape)  # type: ignore[arg-type]


def measure_redrawn(run: Run, snapshot: Snapshot) -> np.ndarray:
    """(n_bags,) one minus the overlap of the run's own masks, which are redrawn, with the decided segments.

    Where the picture's edges contradict the segments, one of the two is wrong. Bags whose mask cannot be read count 0.
    """
    unlike = np.zeros(snapshot.n_bags)
    for bag in np.flatnonzero(snapshot.tags & (run.settings.n_superpixels > 0)):
        labels = run.read_segments(int(bag))["labels"]
        try:
            mask = resize_labels(run.read_mask(int(bag)), labels.shape)  # type: ignore[arg-type]
        except (SegvoteError, OSError):
            continue
        decided = snapshot.decisions[snapshot.get_slice(int(bag))][labels]
        unlike[bag] = 1 - (mask & decided).sum() / max((mask | decided).sum(), 1)
    return unlike


def encode_mask(mask: np.ndarray) -> bytes:
    """A mask, gzipped: height and width as uint32, then one bit per pixel, rows joined, the first pixel highest."""
    head = np.array(mask.shape, dtype="<u4").tobytes()
    return gzip.compress(head + np.packbits(mask).tobytes(), compresslevel=6, mtime=0)


class Masks:
    """Redrawn masks of a run, drawn when asked for, one at a time; safe to use from several threads."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._drawing = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], bytes] = OrderedDict()

    def get(self, snapshot: Snapshot, bag: int) -> bytes:
        """The encoded mask of a bag as a snapshot has it."""
        # Nothing of a bag changes without this number changing.
        key = (bag, int(snapshot.changed_at[bag]))
        with self._drawing:
            if key not in self._kept:
                self._kept[key] = encode_mask(draw_shown(self.run, snapshot, bag))
            self._kept.move_to_end(key)
            while len(self._kept) > MAX_REMEMBERED:
                self._kept.popitem(last=False)
            return self._kept[key]
