"""Small pictures for the page: image, heat map and mask of one bag, within a number of bytes; the strip of extents.

A picture that is gone or has changed since the run gives a reason instead of an error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cv2
import numpy as np

from segvote.errors import SegvoteError, UnreadableImageError
from segvote.io.images import read_image_size, read_small_image, resize_image, resize_labels
from segvote.io.overlays import blend_mask, encode_jpeg, format_data_uri
from segvote.method.extents import N_LEVELS
from segvote.report.markup import escape
from segvote.run.run import Run
from segvote.steps.extent import decide_extents
from segvote.types import WITH

# Base64 characters for all pictures: with the text of 400 images the page stays below 20 MB.
PAGE_BYTES = 18_000_000
SMALLEST, LARGEST = 96, 360  # longest side of a thumbnail in pixels
QUALITIES = (80, 65, 45, 25, 10)


@dataclass(frozen=True)
class Thumbnail:
    """A JPEG and its size in pixels."""

    data: bytes
    height: int
    width: int

    @property
    def uri(self) -> str:
        return format_data_uri(self.data)


def format_picture(picture: np.ndarray, name: str, quality: int = 75) -> str:
    """A picture (h, w, 3) uint8 as an element of a page that carries it inside."""
    source, (height, width) = format_data_uri(encode_jpeg(picture, quality)), picture.shape[:2]
    return f'<img src="{source}" width="{width}" height="{height}" alt="{escape(name)}" loading="lazy">'


@dataclass(frozen=True)
class Triplet:
    """Image, heat map and mask of one bag; None where there is none, and then `problem` may say why."""

    image: Thumbnail | None = None
    heat: Thumbnail | None = None
    mask: Thumbnail | None = None
    problem: str = ""

    @property
    def n_bytes(self) -> int:
        """Base64 characters of all three."""
        return sum(_count_base64(one.data) for one in (self.image, self.heat, self.mask) if one)


def choose_size(n_images: int) -> int:
    """Longest side of the thumbnails: 240 pixels for 400 images, larger for fewer, smaller for more."""
    return int(min(max(240 * math.sqrt(400 / max(n_images, 1)), SMALLEST), LARGEST))


def count_share(n_images: int) -> int:
    """Base64 characters that one bag's pictures may take."""
    return PAGE_BYTES // max(n_images, 1)


def make_triplet(run: Run, index: int, size: int, max_bytes: int) -> Triplet:
    """Thumbnails of one bag, `size` pixels on the longest side.

    Quality is lowered until all three take at most `max_bytes` base64 characters.
    """
    bag = run.bags[index]
    image, image_problem = try_image(run.find_image(index), (bag.height, bag.width), size)
    heat, heat_problem = _try_read(run.folder.heatmap_path(bag.stem), size, "the heat map")
    mask, mask_problem = _try_mask(run, index, image, size) if bag.n_selected else (None, "")
    problem = "; ".join(filter(None, [image_problem, heat_problem, mask_problem]))
    shown = _encode([image, heat, mask], max_bytes)
    return Triplet(shown[0], shown[1], shown[2], problem)


def _try_read(path: Path, size: int, what: str) -> tuple[np.ndarray | None, str]:
    try:
        return read_small_image(path, size), ""
    except UnreadableImageError as error:
        return None, f"{what} cannot be shown: {str(error).removeprefix(f'{path}: ')}"


def try_image(path: Path, shape: tuple[int, int], size: int) -> tuple[np.ndarray | None, str]:
    """An image, its longest side at most `size` pixels; None, and why, where it is gone or not of that `shape`."""
    if not path.exists():
        return None, "the image is no longer where it was during the run"
    image, problem = _try_read(path, size, "the image")
    if image is not None and read_image_size(path) != shape:
        return None, "the image has changed since the run: its size is another"
    return image, problem


def _try_mask(run: Run, index: int, image: np.ndarray | None, size: int) -> tuple[np.ndarray | None, str]:
    path = run.folder.mask_path(run.bags[index].stem)
    try:
        mask = run.read_mask(index)
    except UnreadableImageError as error:
        return None, f"the mask cannot be shown: {str(error).removeprefix(f'{path}: ')}"
    if image is None:  # the mask alone still tells where the object was
        image = np.full((*resize_image(mask.astype(np.uint8), size).shape, 3), 160, np.uint8)
    small = cv2.resize(mask.astype(np.float32), image.shape[1::-1], interpolation=cv2.INTER_AREA) >= 0.5
    return blend_mask(image, small), ""


def _encode(pictures: Sequence[np.ndarray | None], max_bytes: int) -> list[Thumbnail | None]:
    encoded: list[Thumbnail | None] = []
    for quality in QUALITIES:
        encoded = [None if one is None else Thumbnail(encode_jpeg(one, quality), *one.shape[:2]) for one in pictures]
        if sum(_count_base64(one.data) for one in encoded if one) <= max_bytes:
            break
    return encoded


def _count_base64(data: bytes) -> int:
    return 4 * math.ceil(len(data) / 3)


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
