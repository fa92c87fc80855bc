"""A run as a notebook shows it: what it is, a few of its masks, no file beside it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from segvote.errors import SegvoteError
from segvote.io.images import resize_image, resize_labels
from segvote.io.overlays import blend_mask, encode_jpeg, format_data_uri
from segvote.types import WITH

if TYPE_CHECKING:
    from segvote.run.run import Run

N_PICTURES = 8
PICTURE_SIZE = 160


def format_run(run: Run) -> str:
    """HTML of a finished run: its counts and the masks with the least uncertainty.

    A picture that is not where it was is left out.
    """
    chosen = [index for index, bag in enumerate(run.bags) if bag.bag_label == WITH]
    surest = sorted(chosen, key=lambda index: run.bags[index].uncertainty)[:N_PICTURES]
    pictures = "".join(_format_picture(run, index) for index in surest)
    counts = f"{len(chosen)} with, {len(run) - len(chosen)} without, voter {run.settings.voter}"
    return f"<div><p><b>{escape(str(run.folder.path))}</b>: {escape(counts)}</p>{pictures}</div>"


def _format_picture(run: Run, index: int) -> str:
    try:
        picture = resize_image(run.read_image(index), PICTURE_SIZE)
        mask = resize_labels(run.read_mask(index), picture.shape[:2])  # type: ignore[arg-type]
    except (SegvoteError, OSError):
        return ""
    source, name = format_data_uri(encode_jpeg(blend_mask(picture, mask))), escape(run.bags[index].name, quote=True)
    return f'<img src="{source}" alt="{name}" title="{name}" style="margin: 2px">'
