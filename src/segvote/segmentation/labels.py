"""Label maps: making them connected and gapless, checking images and a user's own maps, and measuring segments.

A label map is an integer array (h, w); after `relabel_connected` its segments are 4-connected and numbered 0 .. n-1 in
reading order of their first pixels.
"""

from __future__ import annotations

import cv2
import numpy as np
from scipy import sparse

from segvote.errors import BadInputError
from segvote.numerics.pixels import resize_labels
from segvote.types import Segmentation


def relabel_connected(labels: np.ndarray) -> np.ndarray:
    """(h, w) int32: each connected region of equal label gets its own number, 0 .. n-1 in reading order."""
    return connect_pixels(labels[:, 1:] == labels[:, :-1], labels[1:] == labels[:-1])


def connect_pixels(across: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Connected components of the pixels of an image: (h, w) int32, numbered in reading order.

    `across` (h, w - 1) and `down` (h - 1, w) are bool: a pixel is connected with the next one of its row, of its
    column.
    """
    height, width = len(across), down.shape[1]
    # An image of pixels and of the connections between them, in which OpenCV finds components in two sweeps.
    drawn = np.zeros((2 * height - 1, 2 * width - 1), np.uint8)
    drawn[::2, ::2], drawn[::2, 1::2], drawn[1::2, ::2] = 1, across, down
    return cv2.connectedComponents(drawn, connectivity=4, ltype=cv2.CV_32S)[1][::2, ::2] - 1


def check_image(image: np.ndarray, n_segments: int = 1) -> np.ndarray:
    """The image (h, w, 3) uint8 as a contiguous array; raises if it or the number of segments is not valid."""
    image = np.asarray(image)
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or image.size == 0:
        raise BadInputError(
            f"a segmenter wants (h, w, 3) uint8 RGB, got {image.dtype} of shape {image.shape}; convert it first"
        )
    if n_segments < 1:
        raise BadInputError(f"n_segments must be at least 1, got {n_segments}; ask for one segment or more")
    return np.ascontiguousarray(image)


def check_labels(labels: np.ndarray, shape: tuple[int, int] | None = None) -> np.ndarray:
    """A user's own label map of any integers, as (h, w) int32 with connected segments numbered without gaps.

    A map of another size than `shape` (h, w) is resized to the nearest label.
    """
    labels = np.asarray(labels)
    if labels.ndim != 2 or labels.dtype.kind not in "biu" or labels.size == 0:
        raise BadInputError(
            f"a label map must be an (h, w) integer array, got {labels.dtype} of shape {labels.shape}; "
            "give one number per pixel"
        )
    return relabel_connected(labels if shape is None else resize_labels(labels, shape))


def list_face_pixels(labels: np.ndarray) -> np.ndarray:
    """(2, n_faces) flat indices of the two pixels of each face at which the label changes; vertical faces first."""
    across, down = np.zeros((2, *labels.shape), bool)
    across[:, :-1], down[:-1] = labels[:, :-1] != labels[:, 1:], labels[:-1] != labels[1:]
    # Flat indices are several times as fast to gather as a mask of every pixel.
    left, above = np.flatnonzero(across), np.flatnonzero(down)
    return np.stack([np.concatenate([left, above]), np.concatenate([left + 1, above + labels.shape[1]])])


def list_edges(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours (m, 2) int32, each pair once, the smaller number first, and the pixel faces they share, (m,)."""
    n_segments = int(labels.max()) + 1
    first, second = labels.ravel()[list_face_pixels(labels)]
    # Counted by a sparse matrix, row by row: a sort of all faces takes three times as long.
    faces = np.ones(len(first)), (np.minimum(first, second), np.maximum(first, second))
    counted = sparse.coo_matrix(faces, shape=(n_segments, n_segments)).tocsr().tocoo()
    return np.column_stack([counted.row, counted.col]).astype(np.int32, copy=False), counted.data


def absorb_small(labels: np.ndarray, min_size: int) -> np.ndarray:
    """Join every segment below min_size pixels to the neighbour with which it shares most boundary, until none is left.

    An image smaller than that becomes one segment; segments stay connected and numbered without gaps.
    """
    from scipy.sparse.csgraph import connected_components  # brings half of scipy, which most images do without

    while (small := np.flatnonzero(np.bincount(labels.ravel()) < min_size)).size and labels.max() > 0:
        edges, lengths = list_edges(labels)
        shape = (labels.max() + 1,) * 2
        upper = sparse.csr_matrix((lengths, edges.T), shape=shape)
        nearest = np.asarray((upper + upper.T)[small].argmax(axis=1)).ravel()
        joins = sparse.coo_matrix((np.ones(len(small)), (small, nearest)), shape=shape)
        labels = connected_components(joins, directed=False)[1][labels]
    return relabel_connected(labels)


def measure_border(labels: np.ndarray) -> np.ndarray:
    """(n,) pixel faces of each segment on the border of the image, two for a corner pixel."""
    numbers = np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]])
    return np.bincount(numbers, minlength=int(labels.max()) + 1).astype(np.float64)


def measure_means(values: np.ndarray, labels: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """Mean of each channel over each segment: (n, channels) float64."""
    # A sparse product adds up all channels at once, pixel by pixel in reading order.
    membership = (np.ones(labels.size), labels.ravel(), np.arange(labels.size + 1))
    pixels = sparse.csc_matrix(membership, shape=(len(areas), labels.size))
    return (pixels @ values.reshape(labels.size, -1).astype(np.float64)) / areas[:, None]


def measure_centres(labels: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """(n, 2) mean row and column of each segment, as shares of height and width."""
    places = np.meshgrid(*[(np.arange(side) + 0.5) / side for side in labels.shape], indexing="ij")
    return np.stack([np.bincount(labels.ravel(), weights=one.ravel()) for one in places], axis=1) / areas[:, None]


def measure_segments(segmentation: Segmentation, lab: np.ndarray, shape: tuple[int, int]) -> dict[str, np.ndarray]:
    """The geometry and mean colours of segments as a run folder keeps them.

    `lab` (h, w, 3) are Lab colours at working size; `shape` is height and width of the whole picture.
    """
    labels = segmentation.labels
    edges, lengths = list_edges(labels)
    areas = np.bincount(labels.ravel())
    return {
        "labels": labels.astype(np.uint16 if segmentation.n_segments <= 1 << 16 else np.uint32),
        "parents": segmentation.parents.astype(np.int32),
        "altitudes": segmentation.altitudes.astype(np.float32),
        "areas": areas.astype(np.int64),
        "border": measure_border(labels).astype(np.float32),
        "centres": measure_centres(labels, areas).astype(np.float32),
        "edges": edges,
        "lengths": lengths.astype(np.float32),
        "colours": measure_means(lab, labels, areas).astype(np.float32),
        "shape": np.array(shape, dtype=np.int64),
    }
