"""A strip at the top of the page: a few images at every extent, so that you can choose another for the whole run.

Outlines are those of whole segments at the size of a thumbnail, which is quick; masks are drawn finer.
"""

from __future__ import annotations

from functools import partial

import cv2
import numpy as np

from segvote.errors import SegvoteError
from segvote.io.images import resize_labels
from segvote.io.overlays import blend_mask, encode_jpeg
from segvote.method.extents import N_LEVELS
from segvote.report.markup import escape
from segvote.report.thumbnails import Thumbnail, try_image
from segvote.run.run import Run
from segvote.steps.extent import decide_extents
from segvote.types import WITH

N_IMAGES = 6
SIZE, QUALITY = 200, 75  # longest side of a thumbnail in pixels
WORDS = {1: "most telling part", N_LEVELS: "whole object"}


def format_extents(run: Run) -> str:
    """The strip as HTML; nothing for runs with videos, and for those whose nested selections were not stored."""
    if any(bag.n_frames for bag in run.bags) or not run.folder.extents_path.is_file():
        return ""
    try:
        selections = list_selections(run)
    except SegvoteError as error:
        return f'<p class="problem">extents cannot be shown: {escape(error)}</p>\n'
    body = "".join(_format_image(run, index, selections) for index in choose_images(run))
    heads = "".join(map(partial(_format_head, run.extent), range(1, N_LEVELS + 1)))
    other = run.extent + 1 if run.extent < N_LEVELS else run.extent - 1
    return (
        '<section class="extents" aria-labelledby="extents">\n<div class="head"><h2 id="extents">Extent</h2>\n'
        f"<p>How much of the object the masks cover, level {run.extent} of {N_LEVELS} now, on images from certain to "
        f"uncertain. Choose another for all images: <code>segvote extent . {other}</code>. Outlines are of whole "
        "segments; masks are drawn finer.</p></div>\n"
        f'<div class="strip"><table><thead><tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n'
        "</section>\n"
    )


def choose_images(run: Run) -> list[int]:
    """At most `N_IMAGES` *with* images, at even steps from the most certain mask to the least certain one."""
    shown = [index for index, bag in enumerate(run.bags) if bag.bag_label == WITH and not bag.excluded]
    shown.sort(key=lambda index: (run.bags[index].uncertainty, run.bags[index].name))
    steps = np.linspace(0, len(shown) - 1, min(N_IMAGES, len(shown)))
    return [shown[step] for step in np.rint(steps).astype(int)]


def list_selections(run: Run) -> np.ndarray:
    """(N_LEVELS, n_segments) bool: what each extent selects; user labels took part in the selections."""
    levels = range(1, N_LEVELS + 1)
    return np.array([decide_extents(run, np.full(len(run), level), None)[2] for level in levels])


def _format_head(chosen: int, level: int) -> str:
    words = [WORDS.get(level, ""), "chosen" if level == chosen else ""]
    mark = ' class="chosen" aria-current="true"' if level == chosen else ""
    return f'<th scope="col"{mark}>{level}<span>{" · ".join(filter(None, words))}</span></th>'


def find_chosen(run: Run, index: int, selections: np.ndarray) -> int:
    """The extent that an image was written at: that of the run, unless another one was chosen for it alone."""
    part = run.get_slice(index)
    same = np.flatnonzero((selections[:, part] == run.votes["decisions"][part]).all(axis=1)) + 1
    return run.extent if run.extent in same or not len(same) else int(same[0])


def _format_image(run: Run, index: int, selections: np.ndarray) -> str:
    name, chosen = escape(run.bags[index].name), find_chosen(run, index, selections)
    cells = []
    for level, picture in enumerate(draw_levels(run, index, selections), start=1):
        mark = ' class="chosen"' if level == chosen else ""
        size = f'width="{picture.width}" height="{picture.height}"'
        alt = f"Extent {level} on {name}{', chosen' if level == chosen else ''}"
        cells.append(f'<td{mark}><img src="{picture.uri}" {size} alt="{alt}" title="{name}" decoding="async"></td>')
    return f"<tr>{''.join(cells)}</tr>\n"


def draw_levels(run: Run, index: int, selections: np.ndarray) -> list[Thumbnail]:
    """An image of the run at each extent (N_LEVELS, n_segments), as a thumbnail with the outline of its mask."""
    bag, labels = run.bags[index], run.read_segments(index)["labels"]
    image = try_image(run.find_image(index), (bag.height, bag.width), SIZE)[0]
    if image is None:
        scale = SIZE / max(labels.shape)
        image = np.full((*(max(1, round(side * scale)) for side in labels.shape), 3), 160, np.uint8)
    small = resize_labels(labels, image.shape[:2])
    part = run.get_slice(index)
    drawn = (blend_mask(image, _close_gaps(selected[part][small])) for selected in selections)
    return [Thumbnail(encode_jpeg(one, QUALITY), *one.shape[:2]) for one in drawn]


def _close_gaps(mask: np.ndarray) -> np.ndarray:
    """A mask (h, w) bool without the gaps of a pixel that a smaller label map leaves."""
    closed: np.ndarray = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    return closed.astype(bool)
