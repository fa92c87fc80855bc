"""The mask of one image from the vote on its segments.

The way of drawing is chosen once per run (`Drawing`); `draw_mask` then depends on the image, its segments and their
votes only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from segvote.masks.lines import FILTERS, LINE_SIZE, LineFilter, draw_lines
from segvote.masks.outline import refine_outline
from segvote.masks.sharpen import Superpixels, sharpen
from segvote.numerics.pixels import convert_to_lab, resize_labels
from segvote.selection import Selection

# Values of the option --draw.
WAYS = {
    "auto": "lines where the selected segments hold lines thinner than themselves, otherwise regions",
    "regions": "along superpixels, at the resolution of the photograph",
    "lines": "by local contrast that WITHOUT images do not have, for cracks and scratches",
    "segments": "whole segments, as they were decided",
}
# Longest side, in pixels, at which outlines are drawn; masks of larger photographs are enlarged from there.
DRAWN_SIZE = 1600

# Gives the image, (h, w, 3) uint8, its longer side at most a given number of pixels.
PictureReader = Callable[[int], np.ndarray]


@dataclass(frozen=True)
class Drawing:
    """How the masks of a run are drawn: the same for all images."""

    way: str  # regions, lines or segments
    reason: str = ""  # for the report
    # For lines, see `segvote.masks.lines.draw_lines`.
    filter: LineFilter = FILTERS[0]
    low: float = 0.0
    high: float = 0.0
    # For regions, see `segvote.masks.pieces`: the area-weighted median of their pieces, as a share of the image.
    typical_piece: float = 0.0
    # What the single objects of a mask are: one, touching or pieces, see `segvote.masks.objects`.
    objects: str = "pieces"
    objects_reason: str = ""  # for the report
    # The network that redraws regions, see `segvote.features.networks.sam`; empty: none.
    refine: str = ""
    refine_sha256: str = ""
    device: str = ""


def scale_heat(scores: np.ndarray, threshold: float, low: float, high: float | None = None) -> np.ndarray:
    """Bring scores to [0, 1]: `low` and less become 0, `threshold` one half, `high` and more 1.

    An image that shows the object has its own scale, up to its highest score, where no `high` is given.
    """
    high = float(scores.max()) if high is None else high
    above = 0.5 + 0.5 * (scores - threshold) / max(high - threshold, 1e-12)
    below = 0.5 * (scores - low) / max(threshold - low, 1e-12)
    return np.clip(np.where(scores > threshold, above, below), 0.0, 1.0)


def draw_mask(
    selection: Selection,
    labels: np.ndarray,
    heat: np.ndarray,
    superpixels: Superpixels | None,
    drawing: Drawing,
    size: int,
    read_picture: PictureReader,
) -> np.ndarray:
    """(h, w) bool: the mask of an image whose longer side is `size`, at working size or larger, up to `DRAWN_SIZE`.

    The selection is that of the image, `labels` (h, w) the label map of its segments at working size, `heat`
    (n_segments,) their scores of `scale_heat`. Regions are drawn along superpixels; without them, whole segments. The
    picture is read only where its pixels are needed.
    """
    if drawing.way == "segments" or superpixels is None or not selection.selected.any():
        return selection.selected.take(labels)
    if drawing.way == "lines":
        lines = _draw_lines(selection, labels, drawing, read_picture)
        if lines.any():
            return lines
    shares = np.bincount(superpixels.labels.ravel(), weights=heat.take(labels).ravel()) / superpixels.areas
    coarse = apply_user_labels(sharpen(superpixels, shares).take(superpixels.labels), labels, selection.user_labels)
    if min(size, DRAWN_SIZE) <= max(labels.shape):
        return coarse
    fine = refine_outline(convert_to_lab(read_picture(DRAWN_SIZE)), coarse)
    return apply_user_labels(fine, labels, selection.user_labels)


def _draw_lines(selection: Selection, labels: np.ndarray, drawing: Drawing, read_picture: PictureReader) -> np.ndarray:
    lab, user_labels = convert_to_lab(read_picture(LINE_SIZE)), selection.user_labels
    labels = resize_labels(labels, lab.shape[:2])
    lines = draw_lines(lab, selection.selected.take(labels), drawing.filter, drawing.low, drawing.high)
    # Background by user label has no lines; object by user label is the segment's lines, or all of it if it has none.
    has_lines = np.bincount(labels[lines], minlength=len(user_labels)) > 0
    lines &= (user_labels != 0).take(labels)
    return lines | ((user_labels == 1) & ~has_lines).take(labels)


def apply_user_labels(mask: np.ndarray, labels: np.ndarray, user_labels: np.ndarray) -> np.ndarray:
    """The mask (h, w) bool with the user labels (n_segments,) of the segments of a label map (h', w')."""
    if (user_labels < 0).all():
        return mask
    known = user_labels.take(resize_labels(labels, mask.shape))
    return np.where(known >= 0, known == 1, mask)
