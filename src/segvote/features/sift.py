"""Dense SIFT: Lowe's descriptor on a regular grid at several scales, all windows of a scale in one filtering.

Gradients are split into eight orientation planes; a triangular window over a plane is, at every pixel, the value of one
spatial bin (linear interpolation between bins is that triangle). A descriptor is sixteen samples of the eight planes.
Lowe's Gaussian weight over the descriptor is taken per bin instead of per pixel, which changes little.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from segvote.errors import BadInputError

N_ORIENTATIONS = 8
N_BINS = 4  # along each side of a descriptor
N_DIMS = N_BINS * N_BINS * N_ORIENTATIONS
BLUR = 1.52  # takes a photo's own blur of 0.5 pixels to the 1.6 that Lowe's descriptors start from
CLIP = 0.2  # Lowe's limit on one number of a descriptor, against glare
MIN_CONTRAST = 0.5  # length of an unscaled descriptor below which a window is flat: noise of one grey level has 0.15
OFFSETS = np.arange(N_BINS) - (N_BINS - 1) / 2  # of the bins' centres, in bins


@dataclass(frozen=True)
class DenseSift:
    """Descriptors of one image.

    Attributes
    ----------
    descriptors
        (n_scales, n_rows, n_columns, 128) float32 of length one, or zero where there is no contrast.
    rows, columns
        Centres of the descriptors in pixels, (n_rows,) and (n_columns,).
    """

    descriptors: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


def compute_dense_sift(gray: np.ndarray, step: int = 4, bin_sizes: tuple[int, ...] = (4, 6, 8, 10)) -> DenseSift:
    """SIFT descriptors of grey levels (h, w), 0 .. 255, on a grid of `step` pixels.

    A descriptor is four spatial bins wide, their sides `bin_sizes`, even, one for each scale; bins outside the picture
    are empty.
    """
    if step < 1 or not bin_sizes or any(size < 2 or size % 2 for size in bin_sizes):
        raise BadInputError(f"expected a step of at least 1 and even bin sizes, got {step} and {bin_sizes}")
    rows, columns = (np.arange(step // 2, max(side, step // 2 + 1), step) for side in gray.shape)
    margin = 2 * max(bin_sizes)
    planes = cv2.copyMakeBorder(_split_gradients(gray), *(margin,) * 4, cv2.BORDER_CONSTANT)
    out = np.empty((len(bin_sizes), len(rows), len(columns), N_DIMS), np.float32)
    for scale, bin_size in enumerate(bin_sizes):
        _sample_bins(planes, rows + margin, columns + margin, bin_size, out[scale])
        _normalise(out[scale].reshape(-1, N_DIMS))
    return DenseSift(out, rows, columns)


def _split_gradients(gray: np.ndarray) -> np.ndarray:
    """Share each pixel's gradient between the two nearest of eight orientations: (h, w, 8)."""
    smooth = cv2.GaussianBlur(gray.astype(np.float32), (0, 0), BLUR)
    right = cv2.Sobel(smooth, cv2.CV_32F, 1, 0, ksize=1)
    up = -cv2.Sobel(smooth, cv2.CV_32F, 0, 1, ksize=1)
    length, angle = cv2.cartToPolar(right, up)
    place = (angle * (N_ORIENTATIONS / (2 * np.pi))).ravel()
    low = place.astype(np.int32)
    upper = (place - low) * length.ravel()
    planes = np.zeros((place.size, N_ORIENTATIONS), np.float32)
    first = np.arange(0, planes.size, N_ORIENTATIONS, dtype=np.int32)
    planes.ravel()[first + low % N_ORIENTATIONS] = length.ravel() - upper
    planes.ravel()[first + (low + 1) % N_ORIENTATIONS] = upper
    return planes.reshape(*gray.shape, N_ORIENTATIONS)


def _sample_bins(planes: np.ndarray, rows: np.ndarray, columns: np.ndarray, bin_size: int, out: np.ndarray) -> None:
    """Filter with the triangle of one bin, pick the 4 x 4 bins of every descriptor into `out` (rows, columns, 128)."""
    triangle = (1 - np.abs(np.arange(1 - bin_size, bin_size)) / bin_size).astype(np.float32) / bin_size
    bins = cv2.sepFilter2D(planes, cv2.CV_32F, triangle, triangle, borderType=cv2.BORDER_CONSTANT)
    shifts = np.rint(OFFSETS * bin_size).astype(int)
    weights = np.exp(-(OFFSETS**2) / 8)  # Lowe's Gaussian of half the descriptor's width
    samples = out.reshape(len(rows), len(columns), N_BINS, N_BINS, N_ORIENTATIONS)
    for i, row_shift in enumerate(shifts):
        for j, column_shift in enumerate(shifts):
            picked = bins[_slice(rows, row_shift), _slice(columns, column_shift)]
            np.multiply(picked, np.float32(weights[i] * weights[j]), out=samples[:, :, i, j])


def _slice(places: np.ndarray, shift: int) -> slice:
    step = places[1] - places[0] if len(places) > 1 else 1
    return slice(places[0] + shift, places[-1] + shift + 1, step)


def _normalise(descriptors: np.ndarray) -> None:
    """Scale to length one, clip, scale again, in place; flat windows become zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", descriptors, descriptors))
    scale = np.where(lengths > MIN_CONTRAST, 1 / np.maximum(lengths, MIN_CONTRAST), 0)
    np.multiply(descriptors, scale[:, None].astype(np.float32), out=descriptors)
    np.minimum(descriptors, CLIP, out=descriptors)
    lengths = np.sqrt(np.einsum("ij,ij->i", descriptors, descriptors))
    descriptors *= (1 / np.where(lengths > 0, lengths, 1))[:, None].astype(np.float32)
