"""Spectral boundaries: steps in the eigenvectors of the normalised cut (Shi 2000).

Two pixels are alike unless a boundary lies on the line between them. The graph is decimated before it is solved and the
solutions are carried back by the same likeness, which keeps their steps sharp (Pont-Tuset 2017).
"""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

from segvote.segmentation.cues import N_DIRECTIONS

N_VECTORS = 16
REACH = 5  # pixels of the boundary map
TOLERANCE = 0.2  # a boundary of this probability divides the likeness by e
SMALL_ENOUGH = 4000  # nodes that are solved without further decimation
FLAT = 1e-4  # eigenvalues below this are noise; their vectors would drown the others
STEP_SIGMA = 1.5


def measure_steps(boundary: np.ndarray) -> np.ndarray:
    """(8, h, w) spectral boundary strength in each direction, of the probability of a boundary (h, w)."""
    values, vectors = cut_softly(boundary)
    if not len(values):
        return np.zeros((N_DIRECTIONS, *boundary.shape), np.float32)
    weights = (1 / np.sqrt(np.maximum(values, FLAT))).astype(np.float32)
    across, down = differentiate(vectors.astype(np.float32))
    angles = np.arange(N_DIRECTIONS) * np.pi / N_DIRECTIONS
    steps = [np.abs(across * np.float32(np.cos(t)) + down * np.float32(np.sin(t))) @ weights for t in angles]
    return np.stack(steps)


def differentiate(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian derivatives to the right and downwards of (h, w, n)."""
    offsets = np.arange(-4, 5, dtype=np.float32)
    bell = np.exp(-(offsets**2) / np.float32(2 * STEP_SIGMA**2))
    bell /= bell.sum()
    slope = offsets * bell / np.float32(STEP_SIGMA**2)
    planes = [(slope, bell), (bell, slope)]
    across, down = (cv2.sepFilter2D(vectors, -1, x, y, borderType=cv2.BORDER_REFLECT) for x, y in planes)
    return across.reshape(vectors.shape), down.reshape(vectors.shape)


def cut_softly(boundary: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest eigenvalues but the first of the normalised cut, (k,), and their vectors, (h, w, k).

    Each vector has mean 0 and variance 1; k is 16, less for tiny maps.
    """
    likeness, shape, carriers = link_pixels(boundary), boundary.shape, []
    while likeness.shape[0] > SMALL_ENOUGH:
        likeness, carrier, shape = decimate(likeness, shape)
        carriers.append(carrier)
    values, vectors = solve_cut(likeness)
    for carrier in reversed(carriers):
        vectors = carrier @ vectors
    vectors = vectors - vectors.mean(axis=0)
    spread = vectors.std(axis=0)
    return values, (vectors / np.where(spread > 0, spread, 1)).reshape(*boundary.shape, len(values))


def link_pixels(boundary: np.ndarray) -> sparse.csr_matrix:
    """Likeness of pixels up to REACH apart: exp of minus the strongest boundary on the line between them; (n, n)."""
    numbers = np.arange(boundary.size).reshape(boundary.shape)
    rows, columns, likes = [], [], []
    for first, second, strongest in list_lines(boundary):
        rows.append(numbers[first].ravel())
        columns.append(numbers[second].ravel())
        likes.append(np.exp(-strongest.ravel() / TOLERANCE))
    upper = sparse.identity(boundary.size, np.float32, format="csr") * np.float32(0.5)
    if rows:
        places = (np.concatenate(rows), np.concatenate(columns))
        upper = upper + sparse.csr_matrix((np.concatenate(likes), places), shape=upper.shape)
    return (upper + upper.T).tocsr()


def list_lines(boundary: np.ndarray) -> Iterator[tuple[tuple[slice, slice], tuple[slice, slice], np.ndarray]]:
    """For each offset within REACH: where lines start, where they end, and the strongest boundary on each."""
    height, width = boundary.shape
    for down in range(min(REACH, height - 1) + 1):
        for right in range(-min(REACH, width - 1), min(REACH, width - 1) + 1):
            if down**2 + right**2 > REACH**2 or (down == 0 and right <= 0):
                continue
            rows, columns = slice(0, height - down), slice(max(0, -right), width - max(0, right))
            steps = np.linspace(0, 1, max(down, abs(right)) + 1)
            offsets = [(round(down * step), round(right * step)) for step in steps]
            strongest = np.max([boundary[_shift(rows, y), _shift(columns, x)] for y, x in offsets], axis=0)
            yield (rows, columns), (_shift(rows, down), _shift(columns, right)), strongest


def _shift(part: slice, offset: int) -> slice:
    return slice(part.start + offset, part.stop + offset)


def decimate(
    likeness: sparse.csr_matrix, shape: tuple[int, ...]
) -> tuple[sparse.csr_matrix, sparse.csr_matrix, tuple[int, ...]]:
    """Keep every second pixel of every second row: the decimated likeness, the matrix back to all pixels, the shape."""
    kept = np.arange(likeness.shape[0]).reshape(shape)[::2, ::2]
    to_kept = likeness[:, kept.ravel()]
    sums = np.asarray(to_kept.sum(axis=1)).ravel()
    carrier = sparse.diags((1 / np.maximum(sums, 1e-9)).astype(np.float32)) @ to_kept
    return (carrier.T @ to_kept).tocsr(), carrier.tocsr(), kept.shape


def solve_cut(likeness: sparse.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues 1 - lambda of the normalised likeness, smallest first without the trivial one, and vectors (n, k)."""
    n_nodes = likeness.shape[0]
    roots = 1 / np.sqrt(np.asarray(likeness.sum(axis=1)).ravel())
    normalised = sparse.diags(roots) @ likeness @ sparse.diags(roots)
    if n_nodes <= 4 * N_VECTORS:
        values, vectors = np.linalg.eigh(normalised.toarray())
    else:
        values, vectors = eigsh(normalised, N_VECTORS + 1, which="LA", v0=np.ones(n_nodes), tol=1e-3)
    order = np.argsort(-values, kind="stable")[1 : N_VECTORS + 1]
    return 1 - values[order], vectors[:, order] * roots[:, None]
