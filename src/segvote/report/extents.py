"""The strip of extents at the top of the report: some images of the run with their outlines at every extent."""

from __future__ import annotations

import numpy as np

from segvote.errors import SegvoteError
from segvote.io.images import resize_labels
from segvote.method.extents import N_LEVELS
from segvote.pipeline.extent import list_selections
from segvote.report.markup import escape
from segvote.report.thumbnails import format_picture, outline_segments, read_picture
from segvote.run.run import Run, format_command
from segvote.types import WITH

N_IMAGES, SIZE = 6, 200  # images, and the longest side of each in pixels
WORDS = {1: "most distinctive part", N_LEVELS: "whole object"}


def format_extents(run: Run) -> str:
    """The strip as HTML; nothing for runs with videos, and for those whose nested selections were not stored."""
    try:
        selections = list_selections(run)
    except SegvoteError as error:
        return f'<p class="problem">extents cannot be shown: {escape(error)}</p>\n'
    if not len(selections):
        return ""
    body = "".join(_format_image(run, index, selections) for index in choose_images(run))
    heads = "".join(_format_head(run.extent, level) for level in range(1, N_LEVELS + 1))
    other = run.extent + 1 if run.extent < N_LEVELS else run.extent - 1
    command = escape(format_command(run.folder.path, "extent", other))
    return (
        '<section class="extents" aria-labelledby="extents">\n<div class="head"><h2 id="extents">Extent</h2>\n'
        f"<p>How much of the object the masks cover, level {run.extent} of {N_LEVELS} now, on images from certain to "
        f"uncertain. Choose another for all images: <code>{command}</code>. Outlines are of whole "
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


def _format_head(chosen: int, level: int) -> str:
    words = [WORDS.get(level, ""), "chosen" if level == chosen else ""]
    mark = ' class="chosen" aria-current="true"' if level == chosen else ""
    return f'<th scope="col"{mark}>{level}<span>{" · ".join(filter(None, words))}</span></th>'


def _format_image(run: Run, index: int, selections: np.ndarray) -> str:
    """An image of the run at each extent (N_LEVELS, n_segments), with the outline of its mask."""
    name, part, image = run.bags[index].name, run.get_slice(index), read_picture(run.find_image(index), SIZE)
    if image is None:
        return ""
    small, cells = resize_labels(run.read_segments(index)["labels"], image.shape[:2]), []
    for level, selected in enumerate(selections, start=1):
        mark, word = (' class="chosen"', ", chosen") if level == run.extent else ("", "")
        picture = format_picture(outline_segments(image, small, selected[part]), f"Extent {level} on {name}{word}")
        cells.append(f'<td{mark} title="{escape(name)}">{picture}</td>')
    return f"<tr>{''.join(cells)}</tr>\n"
