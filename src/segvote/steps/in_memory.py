"""Images in memory to masks in memory; no file is written."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from segvote.errors import BadInputError
from segvote.features import FeatureExtractor
from segvote.features.base import check_outputs
from segvote.io.images import read_image, resize_labels
from segvote.io.progress_bar import choose_progress
from segvote.masks import Decided, Drawing, scale_heat
from segvote.method.extents import apply_levels, find_extents
from segvote.method.vote import Vote
from segvote.progress import Progress
from segvote.run.settings import CONTRAST, Settings
from segvote.steps.drawing.choosing import name_refiner
from segvote.steps.drawing.prior import measure_image_peaks, prefer_contrast
from segvote.steps.drawing.superpixels import draw_image
from segvote.steps.extract import segment_image
from segvote.steps.looks import is_better, list_levels, wants_closer_look
from segvote.steps.prepare import check_names
from segvote.steps.table import build_table
from segvote.steps.vote import Held, hold_vote
from segvote.steps.workers import Resources, run_on_all

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class ImageMask:
    """The mask of one image.

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
    """Masks of the *with* images, in their order; an index gives one `ImageMask`.

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
    _check_images(images, len(with_images))
    with choose_progress(progress) as report:
        job = _Job(images, len(with_images), Resources(n_jobs, progress=report))
        return job.carry_out(settings or Settings())


class _Job:
    """One call; the first `n_with` images are *with* images."""

    def __init__(self, images: list[np.ndarray], n_with: int, resources: Resources) -> None:
        self.images, self.n_with, self.resources = images, n_with, resources

    def carry_out(self, settings: Settings) -> ImageMasks:
        """Masks of the vote, of a closer look where that is better."""
        levels = list_levels(settings)
        extractors = [check_names(level) for level in levels]
        segments = list(run_on_all(partial(segment_image, settings), self.images, self.resources, "segment"))
        level, held = levels[0], self._look(levels[0], extractors[0], segments)
        for other, extractor in zip(levels[1:], extractors[1:], strict=True):
            if wants_closer_look(other, held.confidence):
                closer = self._look(other, extractor, segments)
                level, held = (other, closer) if is_better(closer.confidence, held.confidence) else (level, held)
        vote = held.correct(None)
        return self._draw(apply_levels(vote, find_extents(vote), level.extent), level, segments)

    def _look(self, level: Settings, extractor: FeatureExtractor, segments: Sequence[Arrays]) -> Held:
        """The vote on one set of features."""
        if extractor.needs_fit:
            extractor.fit(iter(self.images), np.random.default_rng(level.seed))
        items = [(image, found["labels"]) for image, found in zip(self.images, segments, strict=True)]
        features = list(run_on_all(partial(_extract, extractor, level), items, self.resources, "extract features"))
        positive = np.arange(len(self.images)) < self.n_with
        table, _ = build_table(features, segments, positive, extractor, level)
        if level.detail == CONTRAST:
            table = prefer_contrast(table, list(run_on_all(measure_image_peaks, items, self.resources)))
        return hold_vote(table, level)

    def _draw(self, result: Vote, level: Settings, segments: Sequence[Arrays]) -> ImageMasks:
        """Masks and heat maps of the *with* images."""
        drawing = Drawing("segments" if level.draw == "segments" else "regions", **name_refiner(level))
        table = result.table
        masks, heatmaps = [], []
        for index, image in enumerate(self.images[: self.n_with]):
            own, labels = table.get_slice(index), segments[index]["labels"]
            scores, threshold = result.scores[own], float(result.thresholds[index])
            heat = scale_heat(scores, threshold, float(result.scores.min()), float(scores.max())).astype(np.float32)
            decided = Decided(labels, heat, result.selected[own], np.full(len(scores), -1, dtype=np.int8))
            masks.append(draw_image(image, decided, drawing))
            full = resize_labels(labels, image.shape[:2])  # type: ignore[arg-type]
            heatmaps.append((scores - threshold).astype(np.float32)[full])
            self.resources.progress("draw masks", index + 1, self.n_with)
        return ImageMasks(masks, heatmaps, np.round(result.uncertainty[: self.n_with], 6))


def _extract(extractor: FeatureExtractor, settings: Settings, item: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Features of one image's segments; a process pool calls it."""
    image, labels = item
    return check_outputs(extractor.extract(image, labels.astype(np.int32)), "an image", settings.features)


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
