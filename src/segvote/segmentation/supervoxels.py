"""Streaming hierarchical supervoxels (Xu, Xiong, Corso 2012, after Grundmann 2010), written from the papers.

Frames come in windows of a few. In a window pixels are merged on the space-time graph (`graph_merging`), then regions
by their colour histograms (`region_merging`). The first frame of a window is the last one of the window before; there
regions keep their numbers, and two of different numbers never merge. So each frame is read once, the past never
changes, and memory is that of one window however long the video is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from segvote.errors import BadInputError, MissingPartError
from segvote.segmentation.colour import check_image, convert_to_lab, smooth_colour
from segvote.segmentation.flow import measure_flow
from segvote.segmentation.hierarchy import build_segmentation
from segvote.segmentation.labels import compress_numbers, relabel_connected
from segvote.types import Segmentation

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
    n_in_frame: int = 400,
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
    n_in_frame
        Supervoxels to be seen in a frame, about. The first window has this number; it sets how unlike regions may be
        to merge: later ones have more where there is more to see.
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
    _check_options(n_in_frame, window)
    stream = _Stream(n_in_frame, scale, sigma, min_size)
    before: list[np.ndarray] = []
    n_done = 0
    for batch in _collect_windows(frames, window):
        images = [*before, *batch]
        flows = _measure_flows(images)
        maps = stream.segment(images, flows)
        for labels, flow in zip(maps[-len(batch) :], flows[-len(batch) :], strict=True):
            yield SupervoxelFrame(n_done, labels, flow)
            n_done += 1
        before = batch[-1:]


def segment_supervoxels(image: np.ndarray, n_segments: int = 200) -> Segmentation:
    """Segment an image (h, w, 3) uint8 as a video of one frame into at most n_segments, with their Ward tree."""
    (found,) = stream_supervoxels([image], n_segments)
    return build_segmentation(image, relabel_connected(found.labels), n_segments)


def _check_options(n_in_frame: int, window: int) -> None:
    if n_in_frame < 1:
        raise BadInputError(f"n_in_frame must be at least 1, got {n_in_frame}; ask for one supervoxel or more")
    if not 1 <= window < LONGEST_WINDOW:
        raise BadInputError(f"window must be from 1 to {LONGEST_WINDOW - 1} frames, got {window}")
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


def _measure_flows(images: list[np.ndarray]) -> np.ndarray:
    """(frames, h, w, 2) flow of every frame to the one before; zero for the first."""
    first = np.zeros((*images[0].shape[:2], 2), np.float32)
    return np.stack([first, *(measure_flow(image, earlier) for earlier, image in pairwise(images))])


class _Stream:
    """Segments one window after another; keeps of the past what the next window needs."""

    def __init__(self, n_in_frame: int, scale: float, sigma: float, min_size: int) -> None:
        self._n_in_frame, self._scale, self._sigma, self._min_size = n_in_frame, scale, sigma, min_size
        self._n_numbers = 0  # given out so far
        self._cost_limit: float | None = None  # of the first window
        # The last frame: its finest regions, numbered from 0, and its supervoxels.
        self._last_fine: np.ndarray | None = None
        self._last_labels: np.ndarray | None = None

    def segment(self, images: list[np.ndarray], flows: np.ndarray) -> np.ndarray:
        """(frames, h, w) supervoxels of a window that begins with the last frame of the one before."""
        lab = np.stack([smooth_colour(convert_to_lab(image), self._sigma) for image in images])
        fine, pairs = self._merge_pixels(lab, flows)
        frozen = np.full(int(fine.max()) + 1, -1, np.int32)  # the supervoxel that a region belongs to already
        if self._last_labels is not None:
            frozen[fine[0].ravel()] = self._last_labels.ravel()
        labels = self._merge_regions(lab, fine, pairs, frozen)[fine]
        # Finest regions need no number of the whole video.
        self._last_fine, self._last_labels = compress_numbers(fine[-1]), labels[-1]
        return labels

    def _merge_pixels(self, lab: np.ndarray, flows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Finest regions (frames, h, w) of a window, numbered from 0, and which of them are neighbours, (m, 2)."""
        from segvote.segmentation import graph_merging as graph

        first, second, weights = graph.link_pixels(lab, flows)
        frozen = np.full(lab.shape[:3], -1, np.int32)
        if self._last_fine is not None:
            frozen[0] = self._last_fine
        order, scale = graph.order_by_weight(weights), self._scale * graph.STEPS_PER_UNIT
        roots = graph.merge_pixels(first, second, weights, order, frozen.ravel(), scale, self._min_size)
        fine, _ = graph.number_regions(roots)
        keys = np.unique(graph.list_region_pairs(fine, first, second))
        return fine.reshape(lab.shape[:3]), np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)

    def _merge_regions(self, lab: np.ndarray, fine: np.ndarray, pairs: np.ndarray, frozen: np.ndarray) -> np.ndarray:
        """(n_regions,) int32: the supervoxel of each region."""
        from segvote.segmentation.graph_merging import number_regions
        from segvote.segmentation.region_merging import fill_histograms, merge_regions

        n_frames, sizes = len(fine), np.bincount(fine.ravel()).astype(np.float64)
        seen_in = np.zeros(len(sizes), np.int64)  # bit t: the region is seen in frame t
        for bit, frame in enumerate(fine):
            seen_in[np.unique(frame)] |= 1 << bit
        # Per frame, so that the first window, which has a frame less, sets the same measure as the others.
        histograms = fill_histograms(lab.reshape(-1, 3), fine.ravel(), len(sizes)) / n_frames
        is_first = self._cost_limit is None
        n_wanted = self._n_in_frame * n_frames * (1 if is_first else MOST_IN_WANTED)
        limit = -1.0 if self._cost_limit is None else self._cost_limit
        roots, cost = merge_regions(pairs, histograms, sizes / n_frames, seen_in, frozen.copy(), n_wanted, limit)
        self._cost_limit = cost if is_first else self._cost_limit
        groups, n_groups = number_regions(roots)
        return self._give_numbers(groups, n_groups, frozen)[groups]

    def _give_numbers(self, groups: np.ndarray, n_groups: int, frozen: np.ndarray) -> np.ndarray:
        """(n_groups,) int32: the number each group has already, or the next free one."""
        numbers = np.full(n_groups, -1, np.int32)
        known = frozen >= 0
        numbers[groups[known]] = frozen[known]
        new = np.flatnonzero(numbers < 0)
        numbers[new] = self._n_numbers + np.arange(len(new), dtype=np.int32)
        self._n_numbers += len(new)
        return numbers
