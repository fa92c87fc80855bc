"""`bow`, the paper's features: a histogram of visual words for each segment.

Words are the centres of k-means over dense SIFT descriptors of the run's own images. A descriptor belongs to the
segment under its centre; a descriptor without contrast is no word. A histogram has length one, like those of `color`
and `lbp`: the length of plain counts says how large a segment is, which misleads every voter, also those that want
lengths of a network's features (docs/voters.md). A segment without words keeps a zero vector.

Dense SIFT is Lowe's descriptor on a regular grid at several scales, all windows of a scale in one filtering. Gradients
are split into eight orientation planes; a triangular window over a plane is, at every pixel, the value of one spatial
bin (linear interpolation between bins is that triangle). A descriptor is sixteen samples of the eight planes. Lowe's
Gaussian weight over the descriptor is taken per bin instead of per pixel, which changes little.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import cv2
import numpy as np

from segvote.errors import BadInputError, DamagedFileError
from segvote.features.base import FeatureExtractor, check_inputs
from segvote.features.pooling import resize_image

N_SAMPLES = 256_000  # descriptors that the words are learned from: more changed the error by less than 1 %
N_ROUNDS = 10
SEED = 1  # of faiss, as in the measurements


class BowFeatures(FeatureExtractor):
    """Histograms of dense SIFT words.

    Parameters
    ----------
    n_words
        Size of the codebook.
    size
        Longest side, in pixels, at which descriptors are computed; smaller images are left as they are.
    step
        Pixels between neighbouring descriptors.
    root
        Take square roots of the counts, so that a word that fills a wall weighs less; the paper does not.
    counts
        Leave the histograms as long as they are.
    """

    standardise = False
    needs_fit = True

    def __init__(
        self, n_words: int = 1000, size: int = 400, step: int = 4, root: bool = False, counts: bool = False
    ) -> None:
        if n_words < 2 or size < 16 or step < 1:
            raise BadInputError(f"expected n_words >= 2, size >= 16 and step >= 1, got {n_words}, {size} and {step}")
        self.n_words, self.size, self.step, self.root, self.counts = n_words, size, step, root, counts
        self.blocks = (n_words,)
        self.words_: np.ndarray | None = None  # (n_words, 128) float32
        self._index: Any = None

    def fit(self, images: Iterable[np.ndarray], rng: np.random.Generator) -> Self:
        descriptors = (self._describe_points(image).descriptors.reshape(-1, N_DIMS) for image in images)
        sample = sample_rows((rows[rows.any(axis=1)] for rows in descriptors), N_SAMPLES, rng)
        self.set_state({"words": learn_words(sample, self.n_words)})
        return self

    def extract(self, image: np.ndarray, labels: np.ndarray) -> np.ndarray:
        check_inputs(image, labels)
        points = self._describe_points(image)
        rows, columns = _place_points(points, self._choose_shape(image), labels.shape)
        owners = np.broadcast_to(labels[np.ix_(rows, columns)], points.descriptors.shape[:3])
        has_word = points.descriptors.any(axis=3)
        words = self._find_words(points.descriptors[has_word])
        counts = count_words(words, owners[has_word], int(labels.max()) + 1, self.n_words)
        histograms = np.sqrt(counts) if self.root else counts
        return histograms if self.counts else _scale_rows(histograms)

    def get_key(self) -> dict[str, Any]:
        names = ("n_words", "size", "step", "root", "counts")
        return {"name": "bow", **{name: getattr(self, name) for name in names}}

    def get_state(self) -> dict[str, np.ndarray]:
        return {} if self.words_ is None else {"words": self.words_}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        words = state.get("words")
        if set(state) != {"words"} or words is None or words.shape != (self.n_words, N_DIMS):
            raise DamagedFileError(f"expected a codebook 'words' of {self.n_words} x {N_DIMS}, got {sorted(state)}")
        self.words_, self._index = np.ascontiguousarray(words, np.float32), None

    def _choose_shape(self, image: np.ndarray) -> tuple[int, int]:
        scale = min(1.0, self.size / max(image.shape[:2]))
        return max(1, round(image.shape[0] * scale)), max(1, round(image.shape[1] * scale))

    def _describe_points(self, image: np.ndarray) -> DenseSift:
        gray = cv2.cvtColor(resize_image(image, *self._choose_shape(image)), cv2.COLOR_RGB2GRAY)
        return compute_dense_sift(gray, self.step)

    def _find_words(self, descriptors: np.ndarray) -> np.ndarray:
        if self.words_ is None:
            raise BadInputError("bow has no words yet: call fit with the run's images, or set_state with stored words")
        if self._index is None:
            import faiss

            self._index = faiss.IndexFlatL2(N_DIMS)
            self._index.add(self.words_)
        return self._index.search(descriptors, 1)[1][:, 0]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_index": None}


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
    import faiss

    means = faiss.Kmeans(
        descriptors.shape[1],
        n_words,
        niter=N_ROUNDS,
        seed=SEED,
        min_points_per_centroid=1,  # fewer than the default is only a warning on stderr
        max_points_per_centroid=len(descriptors),
    )
    means.train(np.ascontiguousarray(descriptors, np.float32))
    return np.asarray(means.centroids)


def count_words(words: np.ndarray, segments: np.ndarray, n_segments: int, n_words: int) -> np.ndarray:
    """Count words by segment: (n,) word and segment numbers in, (n_segments, n_words) float32 out."""
    counts = np.bincount(segments.astype(np.int64) * n_words + words, minlength=n_segments * n_words)
    return counts.reshape(n_segments, n_words).astype(np.float32)


def _scale_rows(histograms: np.ndarray) -> np.ndarray:
    """Each row with length one; zero rows stay zero."""
    lengths = np.linalg.norm(histograms, axis=1, keepdims=True)
    return np.divide(histograms, lengths, out=np.zeros_like(histograms), where=lengths > 0)


def _place_points(
    points: DenseSift, shape: tuple[int, int], label_shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Find the label map's rows and columns under the centres of the descriptors."""
    places = []
    for centres, side, label_side in zip((points.rows, points.columns), shape, label_shape, strict=True):
        places.append(np.minimum(((centres + 0.5) * label_side / side).astype(int), label_side - 1))
    return places[0], places[1]


# Dense SIFT ----------------------------------------------------------------------------------------------------------


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
