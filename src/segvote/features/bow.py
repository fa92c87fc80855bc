"""`bow`, the paper's features: a histogram of visual words for each segment.

Words are the centres of k-means over dense SIFT descriptors of the run's own images. A descriptor belongs to the
segment under its centre; a descriptor without contrast is no word. A histogram has length one, because the length of
plain counts is the size of the segment, which misleads every voter (docs/research/measurements.md). A segment without
words keeps a zero vector.

Dense SIFT is Lowe's descriptor on a regular grid at several scales, all windows of a scale in one filtering. Gradients
are split into eight orientation planes; a triangular window over a plane is, at every pixel, the value of one spatial
bin (linear interpolation between bins is that triangle). A descriptor is sixteen samples of the eight planes. Lowe's
Gaussian weight over the descriptor is taken per bin instead of per pixel, which changes little.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import cv2
import numpy as np

from segvote.errors import BadInputError, DamagedFileError
from segvote.features.base import FeatureExtractor
from segvote.features.pooling import resize_image
from segvote.numerics.clusters import learn_centres

N_SAMPLES = 256_000  # descriptors that the words are learned from: more changed the error by less than 1 %
N_ROUNDS = 10
SEED = 1  # of faiss, as in the measurements


class BowFeatures(FeatureExtractor):
    """Histograms of dense SIFT words.

    Parameters
    ----------
    n_words : int
        Size of the codebook.
    size : int
        Longest side, in pixels, at which descriptors are computed; smaller images are left as they are.
    step : int
        Pixels between neighbouring descriptors.
    root : bool
        Take square roots of the counts, so that a word that fills a wall weighs less; the paper does not.
    """

    standardise = False
    needs_fit = True

    def __init__(self, n_words: int = 1000, size: int = 400, step: int = 4, root: bool = False) -> None:
        if n_words < 2 or size < 16 or step < 1:
            raise BadInputError(f"expected n_words >= 2, size >= 16 and step >= 1, got {n_words}, {size} and {step}")
        self.n_words, self.size, self.step, self.root = n_words, size, step, root
        self.blocks = (n_words,)
        self.words_: np.ndarray | None = None  # (n_words, 128) float32

    def fit(self, images: Iterable[np.ndarray], rng: np.random.Generator) -> Self:
        descriptors = (self._describe_points(image).descriptors.reshape(-1, N_DIMS) for image in images)
        sample = sample_rows((rows[rows.any(axis=1)] for rows in descriptors), N_SAMPLES, rng)
        self.set_state({"words": learn_words(sample, self.n_words)})
        return self

    def extract(self, image: np.ndarray, labels: np.ndarray) -> np.ndarray:
        import faiss

        if self.words_ is None:
            raise BadInputError("bow has no words yet: call fit with the run's images, or set_state with stored words")
        points, shape = self._describe_points(image), self._choose_shape(image)
        under = [
            np.minimum(((centres + 0.5) * label_side / side).astype(int), label_side - 1)
            for centres, side, label_side in zip((points.rows, points.columns), shape, labels.shape, strict=True)
        ]
        owners = np.broadcast_to(labels[np.ix_(*under)], points.descriptors.shape[:3])
        has_word = points.descriptors.any(axis=3)
        words = faiss.knn(points.descriptors[has_word], self.words_, 1)[1][:, 0]
        keys, n_segments = owners[has_word].astype(np.int64) * self.n_words + words, int(labels.max()) + 1
        counts = np.bincount(keys, minlength=n_segments * self.n_words).reshape(n_segments, -1).astype(np.float32)
        histograms = np.sqrt(counts) if self.root else counts
        lengths = np.linalg.norm(histograms, axis=1, keepdims=True)
        return histograms / np.where(lengths > 0, lengths, 1)

    def get_key(self) -> dict[str, Any]:
        return {"name": "bow", "n_words": self.n_words, "size": self.size, "step": self.step, "root": self.root}

    def get_state(self) -> dict[str, np.ndarray]:
        return {} if self.words_ is None else {"words": self.words_}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        words = state.get("words")
        if set(state) != {"words"} or words is None or words.shape != (self.n_words, N_DIMS):
            raise DamagedFileError(f"expected a codebook 'words' of {self.n_words} x {N_DIMS}, got {sorted(state)}")
        self.words_ = np.ascontiguousarray(words, np.float32)

    def _choose_shape(self, image: np.ndarray) -> tuple[int, int]:
        scale = min(1.0, self.size / max(image.shape[:2]))
        return max(1, round(image.shape[0] * scale)), max(1, round(image.shape[1] * scale))

    def _describe_points(self, image: np.ndarray) -> DenseSift:
        gray = cv2.cvtColor(resize_image(image, *self._choose_shape(image)), cv2.COLOR_RGB2GRAY)
        return compute_dense_sift(gray, self.step)


def sample_rows(shards: Iterable[np.ndarray], n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Draw rows from a stream of arrays, each with the same chance, without knowing how many there are.

    Every row gets a random number and those with the smallest `n_rows` numbers stay.
    """
    kept, numbers, limit = [], [], np.inf
    for shard in shards:
        drawn = rng.random(len(shard))
        kept.append(shard[drawn < limit])
        numbers.append(drawn[drawn < limit])
        if sum(map(len, numbers)) > 2 * n_rows:
            rows, drawn = _keep_smallest(kept, numbers, n_rows)
            kept, numbers, limit = [rows], [drawn], drawn.max()
    if not kept:
        raise BadInputError("expected at least one image to learn words from, got none")
    return _keep_smallest(kept, numbers, n_rows)[0]


def _keep_smallest(kept: list[np.ndarray], numbers: list[np.ndarray], n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    drawn = np.concatenate(numbers)
    chosen = np.sort(np.argsort(drawn, kind="stable")[:n_rows])
    return np.concatenate(kept)[chosen], drawn[chosen]


def learn_words(descriptors: np.ndarray, n_words: int) -> np.ndarray:
    """(n_words, n_dims) float32: a codebook of descriptors (n, n_dims) by k-means."""
    if len(descriptors) < n_words:
        raise BadInputError(
            f"{n_words} words need as many descriptors, the images gave {len(descriptors)}; add images or set n_words"
        )
    return learn_centres(descriptors, n_words)


# Dense SIFT ----------------------------------------------------------------------------------------------------------


N_ORIENTATIONS = 8
N_BINS = 4  # along each side of a descriptor
N_DIMS = N_BINS * N_BINS * N_ORIENTATIONS
BLUR = 1.52  # takes a photo's own blur of 0.5 pixels to the 1.6 that Lowe's descriptors start from
CLIP = 0.2  # Lowe's limit on one number of a descriptor, against glare
MIN_CONTRAST = 0.5  # length of an unscaled descriptor below which a window is flat: noise of one grey level has 0.15
OFFSETS = np.arange(N_BINS) - (N_BINS - 1) / 2  # of the bins' centres, in bins


class DenseSift(NamedTuple):
    """Descriptors of one image, of length one, or zero where there is no contrast, and their centres in pixels."""

    descriptors: np.ndarray  # (n_scales, n_rows, n_columns, 128) float32
    rows: np.ndarray  # (n_rows,)
    columns: np.ndarray  # (n_columns,)


def compute_dense_sift(gray: np.ndarray, step: int = 4, bin_sizes: tuple[int, ...] = (4, 6, 8, 10)) -> DenseSift:
    """SIFT descriptors of grey levels (h, w), 0 .. 255, on a grid of `step` pixels.

    A descriptor is four spatial bins wide, their sides `bin_sizes`, even, one for each scale; bins outside the picture
    are empty.
    """
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
