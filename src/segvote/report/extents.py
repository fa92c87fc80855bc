"""The strip of extents at the top of the report: some images of the run with their outlines at every extent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from segvote.errors import SegvoteError
from segvote.io.images import resize_labels
from segvote.method.extents import N_EXTENTS
from segvote.numerics.spread import spread_evenly
from segvote.pipeline.extent import list_selections
from segvote.report.markup import render
from segvote.report.thumbnails import Picture, make_picture, outline_segments, read_picture
from segvote.run.run import Run, format_command
from segvote.types import WITH

N_IMAGES, SIZE = 6, 200  # images, and the longest side of each in pixels
WORDS = {1: "most distinctive part", N_EXTENTS: "whole object"}


def format_extents(run: Run) -> str:
    """The strip as HTML; nothing for runs with videos, and for those whose nested selections were not stored."""
    try:
        selections = list_selections(run)
    except SegvoteError as error:
        return render("problem.html.j2", part="extents", reason=error)
    if not len(selections):
        return ""
    other = run.extent + 1 if run.extent < N_EXTENTS else run.extent - 1
    return render(
        "extents.html.j2",
        chosen=run.extent,
        notes=[_describe_extent(extent, run.extent) for extent in range(1, N_EXTENTS + 1)],
        rows=_list_rows(run, selections),
        command=format_command(run.folder.path, "extent", other),
    )


def choose_images(run: Run) -> list[int]:
    """At most `N_IMAGES` *with* images, at even steps from the most certain mask to the least certain one."""
    shown = [index for index, bag in enumerate(run.bags) if bag.bag_label == WITH and not bag.excluded]
    shown.sort(key=lambda index: (run.bags[index].uncertainty, run.bags[index].name))
    return [shown[place] for place in spread_evenly(len(shown), N_IMAGES)]


def _describe_extent(extent: int, chosen: int) -> str:
    return " · ".join(filter(None, (WORDS.get(extent), "chosen" if extent == chosen else "")))


def _list_rows(run: Run, selections: np.ndarray) -> Iterator[tuple[str, list[Picture]]]:
    """Names of images, each with pictures of the image at each extent (N_EXTENTS, n_segments)."""
    for index in choose_images(run):
        name, part, image = run.bags[index].name, run.get_slice(index), read_picture(run.find_image(index), SIZE)
        if image is None:
            continue
        labels, pictures = resize_labels(run.read_segments(index)["labels"], image.shape[:2]), []
        for extent, selected in enumerate(selections, start=1):
            note = ", chosen" if extent == run.extent else ""
            outlined = outline_segments(image, labels, selected[part])
            pictures.append(make_picture(outlined, f"Extent {extent} on {name}{note}"))
        yield name, pictures
