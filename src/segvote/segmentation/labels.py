"""Label maps: making them connected and gapless, checking images and a user's own maps, and measuring segments.

A label map is an integer array (h, w), or (frames, h, w) for a video; after `relabel_connected` its segments are
4-connected (6-connected in a video), numbered 0 .. n-1 in the order in which a reader meets them.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from scipy import sparse

from segvote.errors import BadInputError
from segvote.kernels.pixels import resize_labels
from segvote.types import Segmentation


def relabel_connected(labels: np.ndarray) -> np.ndarray:
    """Give every connected piece of equal label its own number.

    Parameters
    ----------
    labels
        Integer array of any dimension; any values.

    Returns
    -------
    int32 array of the same shape, numbers 0 .. n-1 in reading order of each segment's first pixel.
    """
    if labels.ndim == 2:
        return connect_pixels(labels[:, 1:] == labels[:, :-1], labels[1:] == labels[:-1])[1]
    # scikit-image takes a third of a second to import, which every worker process would spend before its first image.
    from skimage.measure import label as label_components

    # No pixel is background: a number that does not occur keeps the component search from leaving one out.
    return label_components(compress_numbers(labels), background=-1, connectivity=1).astype(np.int32) - 1


def connect_pixels(across: np.ndarray, down: np.ndarray) -> tuple[int, np.ndarray]:
    """Connected components of the pixels of an image.

    Parameters
    ----------
    across, down
        (h, w - 1), (h - 1, w) bool: whether a pixel is connected with the next one of its row, of its column.

    Returns
    -------
    n_components, components
        (h, w) int32 numbers 0 .. n_components-1 in reading order of each component's first pixel.
    """
    height, width = len(across), down.shape[1]
    # A map of pixels and what connects them, on which OpenCV finds components in two sweeps.
    drawn = np.zeros((2 * height - 1, 2 * width - 1), np.uint8)
    drawn[::2, ::2], drawn[::2, 1::2], drawn[1::2, ::2] = 1, across, down
    n_found, found = cv2.connectedComponents(drawn, connectivity=4, ltype=cv2.CV_32S)
    return n_found - 1, found[::2, ::2] - 1


def compress_numbers(labels: np.ndarray) -> np.ndarray:
    """Replace the values that occur by 0, 1, 2, ... in their order, so that no width of integer overflows."""
    lowest = labels.min()
    n_values = int(labels.max()) - int(lowest) + 1
    if n_values > labels.size:
        return np.unique(labels, return_inverse=True)[1].reshape(labels.shape).astype(np.int32)
    places = np.subtract(labels, lowest, dtype=np.int64)
    occurs = np.zeros(n_values, bool)  # a table of all values is ten times as fast as sorting, while it is small
    occurs[places] = True
    return (np.cumsum(occurs, dtype=np.int32) - 1)[places]


def check_image(image: np.ndarray, n_segments: int = 1) -> np.ndarray:
    """The image (h, w, 3) uint8 as a contiguous array, or what is wrong with it or with the number of segments."""
    image = np.asarray(image)
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or image.size == 0:
        raise BadInputError(
            f"a segmenter wants (h, w, 3) uint8 RGB, got {image.dtype} of shape {image.shape}; convert it first"
        )
    if n_segments < 1:
        raise BadInputError(f"n_segments must be at least 1, got {n_segments}; ask for one segment or more")
    return np.ascontiguousarray(image)


def check_labels(labels: np.ndarray, shape: tuple[int, int] | None = None) -> np.ndarray:
    """Accept a user's own label map: any integers, any numbering, pieces that need not be connected.

    Parameters
    ----------
    labels
        (h, w) integer or boolean array.
    shape
        (h, w) wanted; a map of another size is resized to the nearest label.

    Returns
    -------
    (h, w) int32, every segment connected, numbers 0 .. n-1 without gaps.
    """
    labels = np.asarray(labels)
    if labels.ndim != 2 or labels.dtype.kind not in "biu" or labels.size == 0:
        raise BadInputError(
            f"a label map must be an (h, w) integer array, got {labels.dtype} of shape {labels.shape}; "
            "give one number per pixel"
        )
    dense = compress_numbers(labels)
    if shape is not None and dense.shape != tuple(shape):
        dense = resize_labels(dense, shape)
    return relabel_connected(dense)


def find_neighbours(labels: np.ndarray) -> sparse.csr_matrix:
    """(n, n) symmetric: pixel faces between segments i and j of (h, w) or (frames, h, w); 0 on the diagonal."""
    n_segments = int(labels.max()) + 1
    edges, lengths = list_edges(labels)
    upper = sparse.csr_matrix((lengths, (edges[:, 0], edges[:, 1])), shape=(n_segments, n_segments))
    return sparse.csr_matrix(upper + upper.T)


def list_edges(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours (m, 2) int32, each pair once, the smaller number first, and the pixel faces they share, (m,)."""
    n_segments = int(labels.max()) + 1
    first, second = list_faces(labels)
    # Counted by a sparse matrix, row by row: a sort of all faces takes three times as long.
    faces = np.ones(len(first)), (np.minimum(first, second), np.maximum(first, second))
    counted = sparse.coo_matrix(faces, shape=(n_segments, n_segments)).tocsr().tocoo()
    return np.column_stack([counted.row, counted.col]).astype(np.int32, copy=False), counted.data


def list_faces(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Segments on the two sides of every pixel face at which the label changes."""
    pairs = [face_pairs(labels, axis) for axis in range(labels.ndim)]
    return np.concatenate([first for first, _ in pairs]), np.concatenate([second for _, second in pairs])


def face_pairs(labels: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels before and after each change of label along one axis, the faces in reading order."""
    along, changes = np.moveaxis(labels, axis, 0), np.zeros(labels.shape, bool)
    np.moveaxis(changes, axis, 0)[:-1] = along[:-1] != along[1:]
    # Places in the flat map are several times as fast to take as a mask of every pixel.
    flat, places, step = labels.ravel(), np.flatnonzero(changes), math.prod(labels.shape[axis + 1 :])
    return flat[places], flat[places + step]


def absorb_small(labels: np.ndarray, min_size: int) -> np.ndarray:
    """Join every segment below min_size pixels to the neighbour with which it shares most boundary, until none is left.

    An image smaller than that becomes one segment; segments stay connected and numbered without gaps.
    """
    from scipy.sparse.csgraph import connected_components  # brings half of scipy, which most images do without

    while (small := np.flatnonzero(measure_areas(labels) < min_size)).size and labels.max() > 0:
        shared = find_neighbours(labels)
        nearest = np.asarray(shared[small].argmax(axis=1)).ravel()
        joins = sparse.coo_matrix((np.ones(len(small)), (small, nearest)), shape=shared.shape)
        labels = connected_components(joins, directed=False)[1][labels]
    return relabel_connected(labels)


def measure_border(labels: np.ndarray) -> np.ndarray:
    """(n,) pixel faces of each segment on the border of the image, two for a corner pixel.

    The first and last frame of a video (frames, h, w) are no border.
    """
    sides = [labels[..., 0, :], labels[..., -1, :], labels[..., :, 0], labels[..., :, -1]]
    numbers = np.concatenate([side.ravel() for side in sides])
    return np.bincount(numbers, minlength=int(labels.max()) + 1).astype(np.float64)


def measure_areas(labels: np.ndarray) -> np.ndarray:
    """(n,) number of pixels of each segment."""
    return np.bincount(labels.ravel())


def measure_means(values: np.ndarray, labels: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """Mean of each channel over each segment: (n, channels) float64."""
    # A sparse product adds up all channels at once, pixel by pixel in reading order.
    membership = (np.ones(labels.size), labels.ravel(), np.arange(labels.size + 1))
    pixels = sparse.csc_matrix(membership, shape=(len(areas), labels.size))
    return (pixels @ values.reshape(labels.size, -1).astype(np.float64)) / areas[:, None]


def measure_centres(labels: np.ndarray) -> np.ndarray:
    """(n_segments, 2) mean row and column of each segment of a label map (..., h, w), as shares of height and width."""
    flat, areas = labels.ravel(), measure_areas(labels)
    places = np.meshgrid(*[(np.arange(side) + 0.5) / side for side in labels.shape[-2:]], indexing="ij")
    sums = [np.bincount(flat, weights=np.broadcast_to(one, labels.shape).ravel()) for one in places]
    return np.stack(sums, axis=1) / np.maximum(areas, 1)[:, None]


def measure_segments(segmentation: Segmentation, lab: np.ndarray, shape: tuple[int, int]) -> dict[str, np.ndarray]:
    """Everything later steps ask of the geometry, so that no label map has to be measured twice.

    Parameters
    ----------
    segmentation
        Of an image, or of the key frames of a video.
    lab
        (h, w, 3) or (frames, h, w, 3) Lab colours at working size.
    shape
        Height and width of the whole picture.
    """
    labels = segmentation.labels
    edges, lengths = list_edges(labels)
    areas = measure_areas(labels)
    return {
        "labels": labels.astype(np.uint16 if segmentation.n_segments <= 1 << 16 else np.uint32),
        "parents": segmentation.parents.astype(np.int32),
        "altitudes": segmentation.altitudes.astype(np.float32),
        "areas": areas.astype(np.int64),
        "border": measure_border(labels).astype(np.float32),
        "centres": measure_centres(labels).astype(np.float32),
        "edges": edges,
        "lengths": lengths.astype(np.float32),
        "colours": measure_means(lab, labels, areas).astype(np.float32),
        "shape": np.array(shape, dtype=np.int64),
    }
