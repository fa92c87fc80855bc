"""Streaming hierarchical supervoxels (Xu, Xiong, Corso 2012, after Grundmann 2010), written from the papers.

Frames come in windows of a few. In a window pixels are merged on the space-time graph (`graph_merging`), then regions
by their colour histograms, level by level (`region_merging`). The first frame of a window is the last one of the window
before; there every level keeps its numbers, and two of different numbers never merge. So each frame is read once, the
past never changes, and memory is that of one window however long the video is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from segvote.errors import BadInputError, MissingPartError
from segvote.segmentation.colour import check_image, convert_to_lab, smooth_colour
from segvote.segmentation.flow import measure_flow

__all__ = ["SupervoxelFrame", "stream_supervoxels"]

LONGEST_WINDOW = 62  # frames are bits of an int64
# Later windows stop at the first window's cost; a window with much more to see may have this many times its number.
MOST_IN_WANTED = 2


@dataclass(frozen=True)
class SupervoxelFrame:
    """One frame of a segmented video.

    Attributes
    ----------
    index
        Number of the frame in the stream, from 0.
    labels
        (h, w) int32: supervoxel numbers of the whole video; new ones are the next free numbers.
    flow
        (h, w, 2) float32: where each pixel was in the frame before; zero in the first frame.
    """

    index: int
    labels: np.ndarray
    flow: np.ndarray


def stream_supervoxels(
    frames: Iterable[np.ndarray],
    levels: Sequence[int] = (400,),
    level: int = -1,
    *,
    window: int = 8,
    scale: float = 10.0,
    sigma: float = 0.8,
    min_size: int = 20,
) -> Iterator[SupervoxelFrame]:
    """Segment a video while it is read.

    Parameters
    ----------
    frames
        (h, w, 3) uint8 RGB each, all of one size; read once, a window ahead at most.
    levels
        Supervoxels to be seen in a frame, about, for each level of the hierarchy; decreasing. The first window has
        these numbers; it sets how unlike regions may be to merge: later ones have more where there is more to see.
    level
        Which level to give out.
    window
        New frames that are segmented together, 1 to 61.
    scale
        Felzenszwalb's k in Lab units times pixels: larger means larger regions before histograms are compared.
    sigma
        Width in pixels of the Gaussian applied first.
    min_size
        Pixels (in space-time) of the smallest region before histograms are compared.

    Yields
    ------
    SupervoxelFrame
        One for each frame, in order.
    """
    _check_options(levels, level, window)
    _check_numba()
    state = _State([_Level(n_wanted) for n_wanted in levels])
    options = _Options(scale, sigma, min_size)
    before: np.ndarray | None = None
    n_done = 0
    for batch in _collect_windows(frames, window):
        flows = _measure_flows(batch, before)
        images = batch if before is None else [before, *batch]
        maps = _segment_window(images, flows, state, options)[level]
        for labels, flow in zip(maps[-len(batch) :], flows[-len(batch) :], strict=True):
            yield SupervoxelFrame(n_done, labels, flow)
            n_done += 1
        before = batch[-1]


@dataclass(frozen=True)
class _Options:
    scale: float
    sigma: float
    min_size: int


@dataclass
class _Level:
    """What one level of the hierarchy remembers between windows."""

    n_wanted: int
    n_numbers: int = 0  # numbers given out so far
    cost_limit: float | None = None  # of the first window


@dataclass
class _State:
    """All that is kept between windows: the last frame's label map at every level, the finest (of pixels) first."""

    levels: list[_Level]
    last_maps: list[np.ndarray] = field(default_factory=list)


def _check_options(levels: Sequence[int], level: int, window: int) -> None:
    if not levels or min(levels) < 1 or any(coarse > fine for fine, coarse in pairwise(levels)):
        raise BadInputError(f"levels must be numbers of supervoxels that do not increase, got {tuple(levels)}")
    if not -len(levels) <= level < len(levels):
        raise BadInputError(f"level must be one of the {len(levels)} levels, from 0; got {level}")
    if not 1 <= window < LONGEST_WINDOW:
        raise BadInputError(f"window must be from 1 to {LONGEST_WINDOW - 1} frames, got {window}")


def _check_numba() -> None:
    try:
        import numba  # noqa: F401
    except ImportError as error:
        raise MissingPartError(
            "supervoxels need numba, which is not installed: pip install 'segvote[video]'"
        ) from error


def _collect_windows(frames: Iterable[np.ndarray], window: int) -> Iterator[list[np.ndarray]]:
    batch: list[np.ndarray] = []
    shape = None
    for frame in frames:
        frame = check_image(frame)
        shape = shape or frame.shape
        if frame.shape != shape:
            raise BadInputError(f"all frames must have one size, got {frame.shape} after {shape}; resize them first")
        batch.append(frame)
        if len(batch) == window:
            yield batch
            batch = []
    if batch:
        yield batch


def _measure_flows(batch: list[np.ndarray], before: np.ndarray | None) -> np.ndarray:
    """(frames, h, w, 2) flow of every frame of the window to the one before; zero for the first."""
    images = batch if before is None else [before, *batch]
    first = np.zeros((*batch[0].shape[:2], 2), np.float32)
    return np.stack([first, *(measure_flow(image, earlier) for earlier, image in pairwise(images))])


def _segment_window(images: list[np.ndarray], flows: np.ndarray, state: _State, options: _Options) -> list[np.ndarray]:
    """Label maps (frames, h, w) of all levels; the state moves on to the window's last frame."""
    from segvote.segmentation.graph_merging import list_region_pairs

    lab = np.stack([smooth_colour(convert_to_lab(image), options.sigma) for image in images])
    fine, first, second = _merge_pixels(lab, flows, state, options)
    pairs = _list_pairs(list_region_pairs(fine.ravel(), first, second))
    regions, numbers, maps = _Regions.measure(lab, fine, pairs), fine, []
    last_maps = [_compress(fine[-1])]
    for place, level in enumerate(state.levels):
        frozen = regions.find_frozen(numbers[0], state.last_maps[place + 1] if state.last_maps else None)
        regions, merged = _merge_level(regions, frozen, level, len(images))
        numbers = merged[0][numbers]
        maps.append(merged[1][numbers])
        last_maps.append(maps[-1][-1])
    state.last_maps = last_maps
    return maps


def _merge_pixels(
    lab: np.ndarray, flows: np.ndarray, state: _State, options: _Options
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Finest regions (frames, h, w) of a window, numbered from 0, and the edges of its graph."""
    from segvote.segmentation import graph_merging as graph

    first, second, weights = graph.link_pixels(lab, flows)
    frozen = np.full(lab.shape[:3], -1, np.int32)
    if state.last_maps:
        frozen[0] = state.last_maps[0]
    order = graph.order_by_weight(weights)
    scale = options.scale * graph.STEPS_PER_UNIT
    roots = graph.merge_pixels(first, second, weights, order, frozen.ravel(), scale, options.min_size)
    return graph.number_regions(roots)[0].reshape(lab.shape[:3]), first, second


def _list_pairs(keys: np.ndarray) -> np.ndarray:
    keys = np.unique(keys)
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)


def _compress(labels: np.ndarray) -> np.ndarray:
    """Numbers 0, 1, ... for the values that occur: finest regions need no number of the whole video."""
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape).astype(np.int32)


@dataclass(frozen=True)
class _Regions:
    """Regions of a window and what merging asks of them; see `region_merging.merge_regions`."""

    pairs: np.ndarray
    histograms: np.ndarray
    sizes: np.ndarray
    frames: np.ndarray

    @classmethod
    def measure(cls, lab: np.ndarray, labels: np.ndarray, pairs: np.ndarray) -> _Regions:
        from segvote.segmentation.region_merging import fill_histograms

        n_regions = int(labels.max()) + 1
        histograms = fill_histograms(lab.reshape(-1, 3), labels.ravel(), n_regions)
        frames = np.zeros(n_regions, np.int64)
        for bit, frame in enumerate(labels):
            frames[np.unique(frame)] |= 1 << bit
        return cls(pairs, histograms, np.bincount(labels.ravel()).astype(np.float64), frames)

    def find_frozen(self, first_frame: np.ndarray, last_map: np.ndarray | None) -> np.ndarray:
        """(n,) int32: the number that each region has already at the next level, or -1."""
        frozen = np.full(len(self.sizes), -1, np.int32)
        if last_map is not None:
            frozen[first_frame.ravel()] = last_map.ravel()
        return frozen

    def merge(self, groups: np.ndarray) -> _Regions:
        """The regions of the next level: `groups` (n,) numbers 0 .. m-1."""
        n_groups = int(groups.max()) + 1
        histograms, sizes = np.zeros((n_groups, self.histograms.shape[1]), np.float32), np.zeros(n_groups)
        frames = np.zeros(n_groups, np.int64)
        np.add.at(histograms, groups, self.histograms)
        np.add.at(sizes, groups, self.sizes)
        np.bitwise_or.at(frames, groups, self.frames)
        ends = np.sort(groups[self.pairs], axis=1)
        ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0).astype(np.int32)
        return _Regions(ends.reshape(-1, 2), histograms, sizes, frames)


def _merge_level(
    regions: _Regions, frozen: np.ndarray, level: _Level, n_frames: int
) -> tuple[_Regions, tuple[np.ndarray, np.ndarray]]:
    """Merge one level up; returns its regions, the group of each region, and the video's number of each group."""
    from segvote.segmentation.graph_merging import number_regions
    from segvote.segmentation.region_merging import merge_regions

    is_first = level.cost_limit is None
    n_wanted = level.n_wanted * n_frames * (1 if is_first else MOST_IN_WANTED)
    limit = -1.0 if level.cost_limit is None else level.cost_limit
    # Per frame, so that the first window, which has a frame less, sets the same measure as the others.
    sizes = regions.sizes / n_frames
    roots, cost = merge_regions(
        regions.pairs, regions.histograms / n_frames, sizes, regions.frames.copy(), frozen.copy(), n_wanted, limit
    )
    level.cost_limit = cost if is_first else level.cost_limit
    groups, n_groups = number_regions(roots)
    return regions.merge(groups), (groups, _give_numbers(groups, n_groups, frozen, level))


def _give_numbers(groups: np.ndarray, n_groups: int, frozen: np.ndarray, level: _Level) -> np.ndarray:
    """(n_groups,) int32: the frozen number of each group, or the next free one."""
    numbers = np.full(n_groups, -1, np.int32)
    known = frozen >= 0
    numbers[groups[known]] = frozen[known]
    new = np.flatnonzero(numbers < 0)
    numbers[new] = level.n_numbers + np.arange(len(new), dtype=np.int32)
    level.n_numbers += len(new)
    return numbers
