"""The mask of one image from the vote on its segments.

The way of drawing is chosen once per run (`Drawing`); `draw_mask` then depends on the image, its segments and their
votes only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from segvote.errors import UnknownNameError
from segvote.kernels.pixels import convert_to_lab, resize_labels
from segvote.masks.lines import FILTERS, LINE_SIZE, LineFilter, draw_lines
from segvote.masks.outline import refine_outline
from segvote.masks.sharpen import Superpixels, sharpen

# Values of the option --draw.
WAYS = {
    "auto": "lines where the selected segments hold lines thinner than themselves, otherwise regions",
    "regions": "along superpixels, at the resolution of the photograph",
    "lines": "by local contrast that WITHOUT images do not have, for cracks and scratches",
    "segments": "whole segments, as they were decided",
}
# Longest side, in pixels, at which outlines are drawn; masks of larger photographs are enlarged from there.
DRAWN_SIZE = 1600

# Gives the image, (h, w, 3) uint8, its longer side at most so many pixels.
PictureReader = Callable[[int], np.ndarray]


@dataclass(frozen=True)
class Drawing:
    """How the masks of a run are drawn: the same for all images."""

    way: str  # regions, lines or segments
    reason: str = ""  # for the report
    # Of lines, see `segvote.masks.lines.draw_lines`.
    filter: LineFilter = FILTERS[0]
    low: float = 0.0
    high: float = 0.0
    # The network that redraws regions, see `segvote.features.networks.sam`; empty: none.
    refine: str = ""
    refine_sha256: str = ""
    device: str = ""


@dataclass(frozen=True)
class Decided:
    """Result of the vote for the segments of one image."""

    labels: np.ndarray  # (h, w) label map at working size
    heat: np.ndarray  # (n_segments,) in [0, 1], above one half where a segment is selected
    selected: np.ndarray  # (n_segments,) bool
    user_labels: np.ndarray  # (n_segments,) -1 or the user label, 0 or 1


def scale_heat(scores: np.ndarray, threshold: float, low: float, high: float) -> np.ndarray:
    """Bring scores to [0, 1]: `low` and less become 0, `threshold` one half, `high` and more 1."""
    above = 0.5 + 0.5 * (scores - threshold) / max(high - threshold, 1e-12)
    below = 0.5 * (scores - low) / max(threshold - low, 1e-12)
    return np.clip(np.where(scores > threshold, above, below), 0.0, 1.0)


def draw_mask(
    decided: Decided, superpixels: Superpixels | None, drawing: Drawing, size: int, read_picture: PictureReader
) -> np.ndarray:
    """(h, w) bool: the mask of an image whose longer side is `size`, at working size or larger, up to `DRAWN_SIZE`.

    Regions are drawn along superpixels; without them, whole segments. The picture is read only where its pixels are
    needed.
    """
    if drawing.way == "segments" or superpixels is None or not decided.selected.any():
        return decided.selected.take(decided.labels)
    if drawing.way == "lines":
        lines = _draw_lines(decided, drawing, read_picture)
        if lines.any():
            return lines
    return _draw_regions(decided, superpixels, size, read_picture)


def _draw_regions(decided: Decided, found: Superpixels, size: int, read_picture: PictureReader) -> np.ndarray:
    labels = decided.labels
    heat = np.bincount(found.labels.ravel(), weights=decided.heat.take(labels).ravel()) / found.areas
    coarse = apply_user_labels(sharpen(found, heat).take(found.labels), decided)
    if min(size, DRAWN_SIZE) <= max(labels.shape):
        return coarse
    fine = refine_outline(convert_to_lab(read_picture(DRAWN_SIZE)), coarse)
    return apply_user_labels(fine, decided)


def _draw_lines(decided: Decided, drawing: Drawing, read_picture: PictureReader) -> np.ndarray:
    lab = convert_to_lab(read_picture(LINE_SIZE))
    labels, user_labels = resize_labels(decided.labels, lab.shape[:2]), decided.user_labels
    lines = draw_lines(lab, decided.selected.take(labels), drawing.filter, drawing.low, drawing.high)
    # Background by user label has no lines; object by user label is the segment's lines, or all of it if it has none.
    has_lines = np.bincount(labels[lines], minlength=len(user_labels)) > 0
    lines &= (user_labels != 0).take(labels)
    return lines | ((user_labels == 1) & ~has_lines).take(labels)


def apply_user_labels(mask: np.ndarray, decided: Decided) -> np.ndarray:
    """The mask (h, w) bool with the user labels of segments."""
    if (decided.user_labels < 0).all():
        return mask
    known = decided.user_labels.take(resize_labels(decided.labels, mask.shape))  # type: ignore[arg-type]
    return np.where(known >= 0, known == 1, mask)


def check_way(way: str) -> str:
    """Return the name of a way of drawing if it is known."""
    if way not in WAYS:
        raise UnknownNameError(f"unknown way of drawing {way!r}; the known ones are: {', '.join(WAYS)}")
    return way
