"""Masks of all frames of a video: heat carried from key frames, redrawn along each frame's edges, steadied over time.

Only the frames from one key frame to the next are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from segvote.io.images import resize_image, resize_labels
from segvote.io.video.files import Frame
from segvote.io.video.reading import read_ahead, read_frames
from segvote.masks import Drawing, draw_mask
from segvote.pipeline.superpixels import N_SUPERPIXELS, segment_superpixels
from segvote.pipeline.video.carrying import Track, blend, follow_between, is_nearer, measure_flicker
from segvote.pipeline.video.tubes import TubeMaps
from segvote.run.videos import KeyFrames
from segvote.selection import Selection, make_selection

# Weight, in the heat of a frame, of the mask of the frame before, where the flow is trusted.
STEADINESS = 0.3
# A frame is drawn in a box around its warm pixels, wider by this share of the longer side.
MARGIN = 0.1


@dataclass(frozen=True)
class CarriedFrame:
    """A frame of a video with segments and heat carried from its key frames."""

    frame: Frame
    working: np.ndarray  # (h, w, 3) uint8 at working size
    labels: np.ndarray  # (h, w) segments of the nearer key frame
    heat: np.ndarray  # (h, w) float32 mean of the heat of both key frames it lies between
    step: Track | None = None  # to the frame before; None for the first frame, and between supervoxels


@dataclass(frozen=True)
class DrawnFrame:
    """A frame of a video with its mask."""

    frame: Frame
    mask: np.ndarray  # (h, w) bool at the size of the frame
    heat: np.ndarray  # (h', w') float32 in [0, 1] at working size
    flicker: float  # see `segvote.pipeline.video.carrying.measure_flicker`; 0 where there is no step


def carry_frames(
    keys: KeyFrames, path: Path, heat: np.ndarray | None = None, within: tuple[int, int] | None = None
) -> Iterator[CarriedFrame]:
    """All frames of a film or folder in order, or those from one key frame to another, with heat (n_segments,)."""
    heat = np.zeros(len(keys.numbers), np.float32) if heat is None else heat
    if keys.has_tubes:
        yield from _open_tubes(keys, path, heat, within)
        return
    window: list[Frame] = []
    first: CarriedFrame | None = None
    for frame in _read(keys, path, within):
        if frame.index not in keys.arrays["key_indices"]:
            window.append(frame)
            continue
        last = _open_key(keys, frame, heat)
        yield from [last] if first is None else _carry_between(first, window, last)
        window, first = [], last


def read_frame_labels(keys: KeyFrames, path: Path, frame: int) -> np.ndarray:
    """(h, w) segments of one frame by its number in the source, as `carry_frames` gives them."""
    if keys.has_tubes:
        return TubeMaps.open(keys).read_labels(frame)
    indices = keys.arrays["key_indices"]
    after = int(np.searchsorted(indices, frame))
    within = indices[max(after - 1, 0)], indices[after]
    return next(one.labels for one in carry_frames(keys, path, within=within) if one.frame.index == frame)


def _read(keys: KeyFrames, path: Path, within: tuple[int, int] | None = None) -> Iterator[Frame]:
    """All frames in order, or those from one number in the source to another."""
    indices = keys.arrays["frame_indices"]
    low, high = (indices[0], indices[-1]) if within is None else within
    return read_ahead(read_frames(path, indices[(indices >= low) & (indices <= high)].tolist()))


def _open_key(keys: KeyFrames, frame: Frame, heat: np.ndarray) -> CarriedFrame:
    labels = keys.read_labels(keys.find_nearest(frame.index))
    return CarriedFrame(frame, resize_image(frame.image, max(labels.shape)), labels, heat[labels])


def _open_tubes(
    keys: KeyFrames, path: Path, heat: np.ndarray, within: tuple[int, int] | None
) -> Iterator[CarriedFrame]:
    """Frames with the heat of their supervoxels: nothing has to be carried."""
    maps = TubeMaps.open(keys)
    for frame in _read(keys, path, within):
        labels = maps.read_labels(frame.index)
        yield CarriedFrame(frame, resize_image(frame.image, max(labels.shape)), labels, heat[labels])


def _carry_between(first: CarriedFrame, window: list[Frame], last: CarriedFrame) -> Iterator[CarriedFrame]:
    """The frames of a window between two key frames, and the last of these."""
    images = [resize_image(frame.image, max(first.labels.shape)) for frame in window]
    steps, *tracks = follow_between([first.working, *images, last.working])
    for number, (earlier, later) in enumerate(zip(*tracks, strict=True)):
        share = (number + 1) / (len(window) + 1)
        is_early = is_nearer(earlier, later, share)
        labels = earlier.carry(first.labels) if is_early else later.carry(last.labels)
        heat = blend(earlier, later, first.heat, last.heat, share)
        yield CarriedFrame(window[number], images[number], labels, heat, steps[number])
    yield replace(last, step=steps[-1])


def draw_video(
    keys: KeyFrames,
    path: Path,
    heat: np.ndarray,
    selection: Selection,
    along_superpixels: bool = True,
    steadiness: float = STEADINESS,
) -> Iterator[DrawnFrame]:
    """All frames of a video in order, drawn along superpixels, or with the carried segments as they are.

    Heat (n_segments,) is in [0, 1], one half at the threshold; the selection is that of the video.
    """
    # A user label holds in every frame that its segment is carried to.
    user_labels = selection.user_labels
    heat = np.where(user_labels >= 0, user_labels == 1, heat).astype(np.float32)
    if not selection.selected.any():
        for frame in _read(keys, path):
            if frame.index in keys.arrays["key_indices"]:
                cold = _open_key(keys, frame, heat).heat
            yield DrawnFrame(frame, np.zeros(frame.image.shape[:2], dtype=bool), cold, 0.0)
        return
    mask: np.ndarray = np.zeros(0)
    for one in carry_frames(keys, path, heat):
        steadied, flicker = one.heat, 0.0
        if one.step is not None:
            carried, weights = one.step.carry(mask.astype(np.uint8)), steadiness * one.step.trust
            steadied = (1 - weights) * one.heat + weights * carried
        mask = _draw(one, steadied, user_labels, along_superpixels)
        if one.step is not None:
            flicker = measure_flicker(mask, carried > 0)
        yield DrawnFrame(one.frame, resize_labels(mask, one.frame.image.shape[:2]), one.heat, flicker)


def _draw(one: CarriedFrame, heat: np.ndarray, user_labels: np.ndarray, along_superpixels: bool) -> np.ndarray:
    """(h, w) bool at working size, drawn in a box around the warm pixels only."""
    box, mask = _find_box(heat > 0.5), np.zeros(heat.shape, dtype=bool)
    heat, labels, working = heat[box], one.labels[box], one.working[box]
    if not heat.size:
        return mask
    n_superpixels = -(-N_SUPERPIXELS * heat.size // mask.size)
    superpixels = segment_superpixels(working, labels, n_superpixels) if along_superpixels else None
    # Every pixel is a segment of its own: carried heat differs within segments.
    pixels, flat = np.arange(heat.size).reshape(heat.shape), heat.ravel()
    selection = make_selection(flat, flat > 0.5, 0.5, user_labels[labels].ravel())
    size, drawing = max(heat.shape), Drawing("regions")
    mask[box] = draw_mask(selection, pixels, flat, superpixels, drawing, size, lambda _: working)
    return mask


def _find_box(is_warm: np.ndarray) -> tuple[slice, slice]:
    """Rows and columns that hold all warm pixels (h, w) bool and a margin; empty without one."""
    margin = round(MARGIN * max(is_warm.shape))
    places = [np.flatnonzero(is_warm.any(axis=axis)) for axis in (1, 0)]
    rows, columns = (slice(max(one[0] - margin, 0), one[-1] + 1 + margin) if len(one) else slice(0) for one in places)
    return rows, columns
