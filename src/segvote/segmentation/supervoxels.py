"""Streaming hierarchical supervoxels (Xu, Xiong, Corso 2012, after Grundmann 2010), written from the papers.

Frames come in windows of a few. In a window pixels are merged on the space-time graph, then, level by level, regions by
their colour histograms. The first frame of a window is the last one of the window before; there the regions of each
level keep their numbers, and two of different numbers never merge. So each frame is read once, the past never changes,
and memory is that of one window however long the video is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise, tee

import numpy as np
from scipy import sparse

from segvote.errors import BadInputError, MissingPartError
from segvote.kernels.pixels import convert_to_lab, smooth_colour
from segvote.segmentation.carrying import measure_flow
from segvote.segmentation.hierarchy import build_segmentation, number_by_appearance
from segvote.segmentation.labels import check_image, compress_numbers, relabel_connected
from segvote.types import Segmentation

WINDOW = 8  # new frames that are segmented together
N_LEVELS = 16
SIGMA = 0.8  # of the Gaussian applied first, in pixels
# Pixels: Felzenszwalb's k in Lab units times pixels, and the smallest region in pixels of space-time.
PIXEL_SCALE, MIN_SIZE = 10.0, 20.0
# Regions: k of the first level in chi-square distance times pixels; by what it and the smallest size grow per level.
REGION_SCALE, GROWTH = 4.0, 1.5
N_BINS = 20  # of a histogram, per channel
# Lab values of the first and the last bin; colours beyond are rare and count as the last.
LOWEST, HIGHEST = np.array([0.0, -60.0, -60.0]), np.array([100.0, 60.0, 60.0])
OFFSETS = ((0, 1), (1, 0), (1, 1), (1, -1))  # rows and columns to half of a pixel's neighbours


def stream_supervoxels(frames: Iterable[np.ndarray], window: int = WINDOW) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Segment a video while it is read.

    Parameters
    ----------
    frames
        (h, w, 3) uint8 RGB each, all of one size; read once, a window ahead at most.
    window
        New frames that are segmented together.

    Yields
    ------
    Each frame, in order, and (N_LEVELS, h, w) int32: supervoxel numbers of the whole video, a hierarchy from fine to
    coarse; new ones are the next free numbers of their level.
    """
    if window < 1:
        raise BadInputError(f"window must be at least 1 frame, got {window}")
    try:
        import numba  # noqa: F401
    except ImportError as error:
        raise MissingPartError(
            "supervoxels need numba, which is not installed: pip install 'segvote[video]'"
        ) from error
    n_numbers, last = np.zeros(N_LEVELS, np.int64), None
    before: list[np.ndarray] = []
    for batch in _collect_windows(frames, window):
        labels = _segment_window([*before, *batch], last, n_numbers)
        yield from zip(batch, labels[-len(batch) :], strict=True)
        before, last = batch[-1:], labels[-1]


def choose_level(labels: np.ndarray, n_in_frame: int) -> int:
    """The finest level of a frame (N_LEVELS, h, w) with at most so many supervoxels; the coarsest if all have more."""
    fits = [len(np.unique(level)) <= n_in_frame for level in labels]
    return fits.index(True) if any(fits) else len(labels) - 1


def segment_key_frames(frames: Iterable[tuple[np.ndarray, bool]], n_in_frame: int) -> tuple[np.ndarray, np.ndarray]:
    """Of all frames (h, w, 3) of a video, each with whether it is a key frame, only these and their supervoxels.

    Returns (n_keys, h, w, 3) uint8, and (n_keys, h, w) int32 of the level that the first frame chooses, from 0.
    """
    images, is_key = tee(frames)
    level, keys, maps = -1, [], []
    streamed = stream_supervoxels(image for image, _ in images)
    for (image, levels), (_, wanted) in zip(streamed, is_key, strict=True):
        level = choose_level(levels, n_in_frame) if level < 0 else level
        if wanted:
            keys.append(image)
            maps.append(levels[level].copy())  # of a view the whole window would stay in memory
    return np.stack(keys), compress_numbers(np.stack(maps)).astype(np.int32)


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


def _segment_window(images: list[np.ndarray], last: np.ndarray | None, n_numbers: np.ndarray) -> np.ndarray:
    """(frames, N_LEVELS, h, w) supervoxels of a window.

    `last` (N_LEVELS, h, w) are those of its first frame, if known; `n_numbers` (N_LEVELS,) counts the numbers given.
    """
    lab = np.stack([smooth_colour(convert_to_lab(image), SIGMA) for image in images])
    first = lab[0].size // 3  # pixels of the first frame
    edges = link_pixels(lab.shape[:3], [measure_flow(image, earlier) for earlier, image in pairwise(images)])
    regions = np.arange(lab.size // 3)  # of each pixel, at the level below
    weights = np.linalg.norm(lab.reshape(-1, 3)[edges[0]] - lab.reshape(-1, 3)[edges[1]], axis=1)
    sizes, histograms = np.ones(len(regions)), fill_histograms(lab.reshape(-1, 3))
    found = np.empty((N_LEVELS, len(regions)), np.int32)
    scale, min_size = PIXEL_SCALE, MIN_SIZE
    for level in range(N_LEVELS):
        frozen = np.full(len(sizes), -1, np.int32)  # the supervoxel that a region belongs to already
        if last is not None:
            frozen[regions[:first]] = last[level].ravel()
        groups = _merge(edges, weights, sizes, frozen, scale, min_size)
        numbers = _give_numbers(groups, frozen, n_numbers[level])
        n_numbers[level] = max(n_numbers[level], numbers.max() + 1)
        membership = sparse.csr_matrix((np.ones(len(groups)), (groups, np.arange(len(groups)))))
        sizes, histograms, regions = membership @ sizes, membership @ histograms, groups[regions]
        found[level] = numbers[regions]
        edges = _join_edges(groups[edges])
        weights = measure_chi_square(histograms, sizes, edges)
        scale, min_size = REGION_SCALE * GROWTH**level, MIN_SIZE * GROWTH ** (level + 1)
    return found.reshape(N_LEVELS, *lab.shape[:3]).swapaxes(0, 1)


def link_pixels(shape: tuple[int, ...], flows: list[np.ndarray]) -> np.ndarray:
    """(2, m) int32 edges of the space-time graph of pixels (frames, h, w).

    Pixels are joined to their eight neighbours and to the place in the frame before where `flows`, (h, w, 2) for each
    frame but the first, say they were.
    """
    _, height, width = shape
    numbers = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    ends = []
    for rows, columns in OFFSETS:
        left, right = max(-columns, 0), width - max(columns, 0)
        other = numbers[:, rows:, left + columns : right + columns]
        ends.append((numbers[:, : height - rows, left:right].ravel(), other.ravel()))
    for t, flow in enumerate(flows, start=1):
        y, x = np.mgrid[:height, :width]
        u, v = np.rint(x + flow[..., 0]).astype(int), np.rint(y + flow[..., 1]).astype(int)
        inside = (u >= 0) & (u < width) & (v >= 0) & (v < height)
        ends.append((numbers[t - 1, v[inside], u[inside]], numbers[t][inside]))
    return np.stack([np.concatenate(side) for side in zip(*ends, strict=True)])


def fill_histograms(lab: np.ndarray) -> sparse.csr_matrix:
    """(n, 3 N_BINS) histograms of pixels (n, 3) Lab; a colour between two bins counts in both by its nearness."""
    places = np.clip((lab - LOWEST) / (HIGHEST - LOWEST), 0, 1) * (N_BINS - 1)
    low = np.minimum(places.astype(np.int32), N_BINS - 2)
    columns = (low + N_BINS * np.arange(3))[..., None] + np.arange(2)
    shares = np.stack([1 - (places - low), places - low], axis=-1)
    starts = np.arange(0, 6 * len(lab) + 1, 6)
    return sparse.csr_matrix((shares.ravel(), columns.ravel(), starts), shape=(len(lab), 3 * N_BINS))


def measure_chi_square(histograms: sparse.csr_matrix, sizes: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """(m,) chi-square distance of the histograms (n, 3 N_BINS) at the ends of edges: 0 equal, 1 nothing in common."""
    shares = histograms.toarray() / sizes[:, None]
    first, second = shares[edges[0]], shares[edges[1]]
    return ((first - second) ** 2 / np.maximum(first + second, 1e-12)).sum(axis=1) / 6  # type: ignore[no-any-return]


def _merge(
    edges: np.ndarray, weights: np.ndarray, sizes: np.ndarray, frozen: np.ndarray, scale: float, min_size: float
) -> np.ndarray:
    """(n,) component of each node, from 0, see `merge_nodes`; edges in any order."""
    from segvote.segmentation.graph_merging import merge_nodes

    order = np.argsort(weights, kind="stable")
    roots = merge_nodes(edges[:, order], weights[order], sizes.copy(), frozen.copy(), scale, min_size)
    return number_by_appearance(roots)


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
    return np.stack([keys >> 32, keys & 0xFFFFFFFF]).astype(np.int32)
