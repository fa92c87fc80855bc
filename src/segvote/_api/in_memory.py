"""Images in memory to masks in memory; no file is written."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from segvote.errors import BadInputError
from segvote.features import FeatureExtractor
from segvote.features.base import check_outputs
from segvote.io.images import read_image, resize_image, resize_labels
from segvote.io.progress_bar import choose_progress
from segvote.kernels.colour import convert_to_lab
from segvote.masks import Decided, Drawing, scale_heat
from segvote.method.extents import apply_levels
from segvote.progress import Progress, count_along
from segvote.run.settings import Settings
from segvote.segmentation import SEGMENTERS
from segvote.segmentation.labels import measure_segments
from segvote.steps.drawing.superpixels import draw_image
from segvote.steps.looks import is_better, list_levels, wants_closer_look
from segvote.steps.outcome import correct_vote
from segvote.steps.prepare import check_names
from segvote.steps.resources import Resources
from segvote.steps.table import build_table
from segvote.steps.vote import Held, hold_vote
from segvote.steps.workers import run_on_all

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class ImageMask:
    """What was found in one image.

    Attributes
    ----------
    mask : ndarray of shape (h, w), bool
        True on the object.
    heatmap : ndarray of shape (h, w), float32
        Score less threshold.
    uncertainty : float
        0 certain to 1.

    Examples
    --------
    >>> import numpy as np, segvote
    >>> one = segvote.ImageMask(np.ones((4, 6), bool), np.zeros((4, 6), np.float32), 0.2)
    >>> int(one.mask.sum())
    24
    """

    mask: np.ndarray
    heatmap: np.ndarray
    uncertainty: float


@dataclass(frozen=True)
class ImageMasks:
    """What was found in the *with* images, in the order in which they were given; an index gives one `ImageMask`.

    Attributes
    ----------
    masks
        (h, w) bool of every image.
    heatmaps
        (h, w) float32 of every image: score less threshold.
    uncertainty
        (n_images,): 0 certain to 1.

    Examples
    --------
    >>> import numpy as np, segvote
    >>> found = segvote.ImageMasks([np.ones((4, 6), bool)], [np.zeros((4, 6), np.float32)], np.array([0.2]))
    >>> len(found), found[0].uncertainty
    (1, 0.2)
    """

    masks: list[np.ndarray]
    heatmaps: list[np.ndarray]
    uncertainty: np.ndarray

    def __len__(self) -> int:
        return len(self.masks)

    def __getitem__(self, index: int) -> ImageMask:
        return ImageMask(self.masks[index], self.heatmaps[index], float(self.uncertainty[index]))


def annotate_images(
    with_images: Sequence[Any],
    without_images: Sequence[Any],
    settings: Settings | None = None,
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> ImageMasks:
    """Masks of the object that some images show and others do not; no file is written.

    Parameters
    ----------
    with_images, without_images : sequence
        Arrays, (h, w) or (h, w, 3) uint8, paths, or PIL images, in any mixture; none in both.
    settings : Settings, optional
        How; default: as the command line's.
    n_jobs : int
        Number of processes; the answer does not depend on it.
    progress : callable, optional
        Called with step, done, total; default: a bar in a terminal or a notebook.

    Returns
    -------
    ImageMasks

    Examples
    --------
    >>> import numpy as np, segvote
    >>> rng = np.random.default_rng(0)
    >>> def make_image(with_object):
    ...     image = rng.integers(90, 110, (60, 80, 3)).astype(np.uint8)
    ...     if with_object:
    ...         image[20:40, 30:50] = (200, 30, 30)
    ...     return image
    >>> quick = segvote.Settings(features="color", n_segments=30, size=80)
    >>> shown, empty = ([make_image(with_object) for _ in range(4)] for with_object in (True, False))
    >>> found = segvote.annotate_images(shown, empty, quick)
    >>> bool(found[0].mask[30, 40]), bool(found[0].mask[5, 5])
    (True, False)
    """
    images = [_read_pixels(*one) for some in (with_images, without_images) for one in enumerate(some)]
    n_with = len(with_images)
    _check_images(images, n_with)
    with choose_progress(progress) as report:
        job = _Job(images, n_with, settings or Settings(), Resources(n_jobs), report)
        return job.draw(job.vote())


@dataclass(frozen=True)
class _Look:
    """The vote on one set of features."""

    settings: Settings
    held: Held


class _Job:
    """One call: images, the first of which are *with*, and their segments."""

    def __init__(
        self, images: list[np.ndarray], n_with: int, settings: Settings, resources: Resources, progress: Progress
    ) -> None:
        self.images, self.n_with, self.settings = images, n_with, settings
        self.resources, self.progress = resources, progress
        check_names(settings)
        self.segments: list[Arrays] = self._map(_Segment(settings), images, "segment")

    def _map(self, function: Any, items: Sequence[Any], step: str) -> list[Any]:
        return list(count_along(run_on_all(function, items, self.resources), step, len(items), self.progress))

    def vote(self) -> _Look:
        """The vote, of a closer look where that is better."""
        wide, *closer = list_levels(self.settings)
        look = self._look(wide)
        for level in closer:
            if wants_closer_look(look.held.confidence):
                other = self._look(level)
                look = other if is_better(other.held.confidence, look.held.confidence) else look
        return look

    def _look(self, level: Settings) -> _Look:
        extractor = check_names(level)
        if extractor.needs_fit:
            extractor.fit(iter(self.images), np.random.default_rng(level.seed))
        items = [(image, found["labels"]) for image, found in zip(self.images, self.segments, strict=True)]
        features = self._map(_Extract(extractor, level.features), items, "extract features")
        positive = np.arange(len(self.images)) < self.n_with
        table = build_table(features, self.segments, positive, extractor, settings=level)
        return _Look(level, hold_vote(table, level))

    def draw(self, look: _Look) -> ImageMasks:
        """Masks and heat maps of the *with* images."""
        corrected = correct_vote(look.held, None, None)
        result = apply_levels(corrected.vote, corrected.extents, look.settings.extent)
        drawing = Drawing("segments" if look.settings.draw == "segments" else "regions")
        ends = np.cumsum([len(found["areas"]) for found in self.segments])
        scores, selected = (np.split(values, ends[:-1]) for values in (result.scores, result.selected))
        masks, heatmaps = [], []
        for index in range(self.n_with):
            own, labels, threshold = scores[index], self.segments[index]["labels"], float(result.thresholds[index])
            heat = scale_heat(own, threshold, float(result.scores.min()), float(own.max())).astype(np.float32)
            image, free = self.images[index], np.full(len(own), -1, dtype=np.int8)
            masks.append(draw_image(image, Decided(labels, heat, selected[index], free), drawing))
            full = resize_labels(labels, image.shape[:2])  # type: ignore[arg-type]
            heatmaps.append((own - threshold).astype(np.float32)[full])
            self.progress("draw masks", index + 1, self.n_with)
        return ImageMasks(masks, heatmaps, np.round(result.uncertainty[: self.n_with], 6))


@dataclass(frozen=True)
class _Segment:
    """Segments one image; a process pool calls it."""

    settings: Settings

    def __call__(self, image: np.ndarray) -> Arrays:
        working = resize_image(image, self.settings.size)
        segmentation = SEGMENTERS[self.settings.segmenter](working, n_segments=self.settings.n_segments)
        return measure_segments(segmentation, convert_to_lab(working), image.shape[:2])  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Extract:
    """Extracts the features of one image's segments; a process pool calls it."""

    extractor: FeatureExtractor
    name: str

    def __call__(self, item: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        image, labels = item
        return check_outputs(self.extractor.extract(image, labels.astype(np.int32)), "an image", self.name)


def _check_images(images: Sequence[np.ndarray], n_with: int) -> None:
    """Refuse an empty list, and an image that is in both."""
    if not 0 < n_with < len(images):
        raise BadInputError(f"expected images of both kinds, got {n_with} with and {len(images) - n_with} without")
    digests = [hashlib.sha256(image.tobytes()).digest() for image in images]
    known = {digest: number for number, digest in enumerate(digests[:n_with])}
    for number, digest in enumerate(digests[n_with:]):
        if digest in known:
            raise BadInputError(f"with image {known[digest]} and without image {number} are the same; remove one")


def _read_pixels(number: int, image: Any) -> np.ndarray:
    if isinstance(image, str | Path):
        return read_image(image)
    if isinstance(image, Image.Image):
        return np.asarray(image.convert("RGB"))
    pixels = np.asarray(image)
    is_picture = pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 3)
    if pixels.dtype != np.uint8 or not is_picture or 0 in pixels.shape:
        raise BadInputError(
            f"image {number}: expected (h, w) or (h, w, 3) uint8, a path or a PIL image; "
            f"got {pixels.dtype} of shape {pixels.shape}"
        )
    return np.ascontiguousarray(pixels if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, axis=2))
