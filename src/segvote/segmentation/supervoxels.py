"""Streaming hierarchical supervoxels (Xu, Xiong, Corso 2012, after Grundmann 2010), written from the papers.

Frames come in windows of a few. In a window regions are merged on the space-time graph, level by level, by their colour
histograms. The first frame of a window is the last one of the window before; there the regions of each level keep their
numbers, and two of different numbers never merge. So each frame is read once, the past never changes, and memory is
that of one window however long the video is.

The lowest regions are watershed basins of each frame, where the publication merges pixels: a basin is linked with its
neighbours and with the basins that it overlaps in the frame before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from segvote.errors import BadInputError
from segvote.numerics.pixels import convert_to_lab, measure_gradient, smooth_colour
from segvote.segmentation.hierarchy import build_segmentation
from segvote.segmentation.labels import check_image, list_edges, relabel_connected
from segvote.segmentation.merging import merge_nodes
from segvote.segmentation.ward import find_basins
from segvote.types import Segmentation

WINDOW = 8  # new frames that are segmented together
N_LEVELS = 16
SIGMA = 1.0  # of the Gaussian applied first, in pixels
# k of the first level in chi-square distance times pixels, and the smallest region in pixels of space-time; by what
# both grow per level.
SCALE, MIN_SIZE, GROWTH = 4.0, 20.0, 1.5
N_BINS = 20  # of a histogram, per channel
# Lab values of the first and the last bin; colours beyond are rare and count as the last.
LOWEST, HIGHEST = np.array([0.0, -60.0, -60.0]), np.array([100.0, 60.0, 60.0])
LEAST_OVERLAP = 0.1  # share of the smaller of two basins of successive frames that the other covers, to be linked


def stream_supervoxels(frames: Iterable[np.ndarray], window: int = WINDOW) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Segment a video while it is read.

    Parameters
    ----------
    frames : iterable of (h, w, 3) uint8
        RGB, all of one size; read once, a window ahead at most.
    window : int
        New frames that are segmented together.

    Yields
    ------
    Each frame, in order, and (N_LEVELS, h, w) int32: supervoxel numbers of the whole video, a hierarchy from fine to
    coarse; new ones are the next free numbers of their level.
    """
    if window < 1:
        raise BadInputError(f"window must be at least 1 frame, got {window}")
    n_numbers, last = np.zeros(N_LEVELS, np.int64), None
    before: list[FrameRegions] = []
    for batch in _collect_windows(frames, window):
        new = [find_regions(image) for image in batch]
        labels = _segment_window([*before, *new], last, n_numbers)
        yield from zip(batch, labels[-len(batch) :], strict=True)
        before, last = new[-1:], labels[-1]


def choose_level(labels: np.ndarray, n_in_frame: int) -> int:
    """The finest level of a frame (N_LEVELS, h, w) of at most that many supervoxels; else the coarsest."""
    fits = [len(np.unique(level)) <= n_in_frame for level in labels]
    return fits.index(True) if any(fits) else len(labels) - 1


def segment_supervoxels(image: np.ndarray, n_segments: int = 200) -> Segmentation:
    """Segment an image (h, w, 3) uint8 as a video of one frame into at most n_segments, with their Ward tree."""
    ((_, levels),) = stream_supervoxels([check_image(image, n_segments)])
    return build_segmentation(image, relabel_connected(levels[choose_level(levels, n_segments)]), n_segments)


def _collect_windows(frames: Iterable[np.ndarray], window: int) -> Iterator[list[np.ndarray]]:
    batch: list[np.ndarray] = []
    shape = None
    for frame in frames:
        shape = shape or check_image(frame).shape
        if frame.shape != shape:
            raise BadInputError(f"all frames must have one size, got {frame.shape} after {shape}; resize them first")
        batch.append(frame)
        if len(batch) == window:
            yield batch
            batch = []
    if batch:
        yield batch


@dataclass(frozen=True)
class FrameRegions:
    """The lowest regions of one frame."""

    labels: np.ndarray  # (h, w) int32
    histograms: np.ndarray  # (n, 3 N_BINS) colours, summed over pixels
    edges: np.ndarray  # (m, 2) neighbours

    @property
    def sizes(self) -> np.ndarray:
        """(n,) pixels."""
        return np.bincount(self.labels.ravel())


def find_regions(image: np.ndarray) -> FrameRegions:
    """The lowest regions of a frame (h, w, 3) uint8: watershed basins."""
    lab = smooth_colour(convert_to_lab(image), SIGMA)
    labels = find_basins(measure_gradient(lab))
    pixels = fill_histograms(lab.reshape(-1, 3))
    membership = (np.ones(labels.size), labels.ravel(), np.arange(labels.size + 1))
    summed = sparse.csc_matrix(membership, shape=(int(labels.max()) + 1, labels.size)) @ pixels
    return FrameRegions(labels, summed.toarray(), list_edges(labels)[0])


def _segment_window(frames: list[FrameRegions], last: np.ndarray | None, n_numbers: np.ndarray) -> np.ndarray:
    """(frames, N_LEVELS, h, w) supervoxels of a window.

    `last` (N_LEVELS, h, w) are those of its first frame, if known; `n_numbers` (N_LEVELS,) counts the numbers given.
    """
    starts = np.cumsum([0, *(len(frame.histograms) for frame in frames)])
    lowest = np.stack([frame.labels + start for frame, start in zip(frames, starts[:-1], strict=True)])
    regions = np.arange(starts[-1])  # of each basin, at the level below
    sizes, histograms = (np.concatenate([getattr(one, name) for one in frames]) for name in ("sizes", "histograms"))
    edges, sizes = link_regions(frames, starts), sizes.astype(np.float64)
    maps = np.empty((N_LEVELS, *lowest.shape), np.int32)
    for level in range(N_LEVELS):
        frozen = np.full(len(sizes), -1, np.int64)  # the supervoxel that a region belongs to already
        if last is not None:
            frozen[regions[lowest[0]]] = last[level]
        growth = GROWTH**level
        weights = measure_chi_square(histograms, sizes, edges)
        roots = merge_nodes(edges, weights, sizes, frozen, SCALE * growth, MIN_SIZE * growth)
        groups = np.unique(roots, return_inverse=True)[1]
        numbers = _give_numbers(groups, frozen, int(n_numbers[level]))
        n_numbers[level] = max(n_numbers[level], numbers.max() + 1)
        membership = sparse.csr_matrix((np.ones(len(groups)), (groups, np.arange(len(groups)))))
        sizes, histograms, regions = membership @ sizes, membership @ histograms, groups[regions]
        maps[level] = numbers[regions][lowest]
        edges = _join_edges(groups[edges])
    return maps.swapaxes(0, 1)


def link_regions(frames: list[FrameRegions], starts: np.ndarray) -> np.ndarray:
    """(2, m) edges between basins numbered over a window: neighbours, and basins of successive frames that overlap."""
    pairs = [frame.edges.T.astype(np.int64) + start for frame, start in zip(frames, starts[:-1], strict=True)]
    for place, (before, after) in enumerate(pairwise(frames)):
        counted = sparse.coo_matrix(
            (np.ones(before.labels.size), (before.labels.ravel(), after.labels.ravel())),
            shape=(len(before.histograms), len(after.histograms)),
        )
        counted.sum_duplicates()
        first, second, shared = counted.row, counted.col, counted.data
        linked = shared >= LEAST_OVERLAP * np.minimum(before.sizes[first], after.sizes[second])
        pairs.append(np.stack([first[linked] + starts[place], second[linked] + starts[place + 1]]))
    return np.concatenate(pairs, axis=1)


def fill_histograms(lab: np.ndarray) -> sparse.csr_matrix:
    """(n, 3 N_BINS) histograms of pixels (n, 3) Lab; a colour between two bins counts in both by its nearness."""
    places = np.clip((lab - LOWEST) / (HIGHEST - LOWEST), 0, 1) * (N_BINS - 1)
    low = np.minimum(places.astype(np.int32), N_BINS - 2)
    columns = (low + N_BINS * np.arange(3))[..., None] + np.arange(2)
    shares = np.stack([1 - (places - low), places - low], axis=-1)
    starts = np.arange(0, 6 * len(lab) + 1, 6)
    return sparse.csr_matrix((shares.ravel(), columns.ravel(), starts), shape=(len(lab), 3 * N_BINS))


def measure_chi_square(histograms: np.ndarray, sizes: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """(m,) chi-square distance of the histograms (n, 3 N_BINS) at the ends of edges: 0 equal, 1 nothing in common."""
    shares = (histograms / sizes[:, None]).astype(np.float32)
    first, second = shares[edges[0]], shares[edges[1]]
    distances = ((first - second) ** 2 / np.maximum(first + second, 1e-12)).sum(axis=1) / 6
    return distances.astype(np.float64)


def _give_numbers(groups: np.ndarray, frozen: np.ndarray, n_given: int) -> np.ndarray:
    """(n_groups,) int32: the number that a node of each group has already, or the next free one."""
    numbers = np.full(int(groups.max()) + 1, -1, np.int32)
    numbers[groups[frozen >= 0]] = frozen[frozen >= 0]
    numbers[numbers < 0] = n_given + np.arange(np.count_nonzero(numbers < 0))
    return numbers


def _join_edges(edges: np.ndarray) -> np.ndarray:
    """(2, m) edges between different nodes, each once."""
    low, high = edges.min(axis=0).astype(np.int64), edges.max(axis=0)
    keys = np.unique((low << 32 | high)[low != high])
    return np.stack([keys >> 32, keys & 0xFFFFFFFF])
