"""Images in memory to masks in memory; no file is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from segvote.errors import BadInputError
from segvote.features import FeatureExtractor
from segvote.io.images import read_image, resize_image, resize_labels
from segvote.io.progress_bar import choose_progress
from segvote.masks import Decided, Drawing, scale_heat
from segvote.masks.lines import LINE_SIZE
from segvote.method.extents import apply_levels, find_extents
from segvote.method.vote import Vote
from segvote.progress import Progress
from segvote.run.settings import CONTRAST, Settings
from segvote.steps.drawing.choosing import name_refiner
from segvote.steps.drawing.prior import measure_image, prefer_contrast
from segvote.steps.drawing.superpixels import draw_image
from segvote.steps.extract import extract_image, segment_image
from segvote.steps.looks import choose_look, list_levels
from segvote.steps.prepare import check_names
from segvote.steps.table import build_table
from segvote.steps.vote import Held, hold_vote
from segvote.steps.workers import Resources, run_on_all


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


def annotate_images(
    with_images: Sequence[Any],
    without_images: Sequence[Any],
    settings: Settings | None = None,
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> list[ImageMask]:
    """Masks of the object that some images show and others do not; no file is written.

    Masks are drawn as regions or whole segments, never as lines: for those use `annotate`.

    Parameters
    ----------
    with_images, without_images : sequence
        Arrays, (h, w) or (h, w, 3) uint8, paths, or PIL images, in any mixture; none in both.
    settings : Settings, optional
        Default: those of the command line.
    n_jobs : int
        Number of processes; the answer does not depend on it.
    progress : callable, optional
        Called with step, done, total; default: a bar in a terminal or a notebook.

    Returns
    -------
    list of ImageMask
        Of the *with* images, in their order.

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
    given = [_read_pixels(*one) for images in (with_images, without_images) for one in enumerate(images)]
    positive = np.arange(len(given)) < len(with_images)
    if positive.all() or not positive.any():
        raise BadInputError(
            f"expected images of both kinds, got {len(with_images)} with and {len(without_images)} without"
        )
    shown = {image.tobytes(): number for number, image in enumerate(given[: len(with_images)])}
    for number, image in enumerate(given[len(with_images) :]):
        if (other := shown.get(image.tobytes())) is not None:
            raise BadInputError(f"with image {other} and without image {number} are the same; remove one")
    with choose_progress(progress) as report:
        return _annotate(given, positive, settings or Settings(), Resources(n_jobs, progress=report))


def _annotate(
    images: list[np.ndarray], positive: np.ndarray, settings: Settings, resources: Resources
) -> list[ImageMask]:
    """Masks of the *with* images, which are the first, by the first look or by a closer one that is better."""
    levels = [(level, check_names(level)) for level in list_levels(settings)]
    segments = list(run_on_all(partial(segment_image, settings), images, resources, "segment"))
    held, level = choose_look(levels, partial(_vote, images, segments, positive, resources))
    vote = apply_levels(held.vote, find_extents(held.vote), level.extent)
    drawing = Drawing("segments" if level.draw == "segments" else "regions", **name_refiner(level))
    masks = []
    for index in map(int, np.flatnonzero(positive)):
        masks.append(_draw(images[index], segments[index]["labels"], vote, index, drawing))
        resources.progress("draw masks", len(masks), int(positive.sum()))
    return masks


def _vote(
    images: list[np.ndarray],
    segments: list[dict[str, np.ndarray]],
    positive: np.ndarray,
    resources: Resources,
    level: Settings,
    extractor: FeatureExtractor,
) -> tuple[Held, Settings]:
    """The vote on the features of one look, and its settings."""
    if extractor.needs_fit:
        extractor.fit(iter(images), np.random.default_rng(level.seed))
    items = [(image, found["labels"]) for image, found in zip(images, segments, strict=True)]
    features = list(run_on_all(partial(extract_image, extractor, level), items, resources, "extract features"))
    table, _ = build_table(features, segments, positive, extractor, level)
    if level.detail == CONTRAST:
        table = prefer_contrast(table, list(run_on_all(_measure_peaks, items, resources)))
    return hold_vote(table, level), level


def _measure_peaks(item: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    image, labels = item
    return measure_image(resize_image(image, LINE_SIZE), labels)


def _draw(image: np.ndarray, labels: np.ndarray, vote: Vote, index: int, drawing: Drawing) -> ImageMask:
    own, threshold = vote.table.get_slice(index), float(vote.thresholds[index])
    scores = vote.scores[own]
    heat = scale_heat(scores, threshold, float(vote.scores.min()), float(scores.max())).astype(np.float32)
    decided = Decided(labels, heat, vote.selected[own], vote.user_labels[own])
    heatmap = (scores - threshold).astype(np.float32)[resize_labels(labels, image.shape[:2])]
    return ImageMask(draw_image(image, decided, drawing), heatmap, round(float(vote.uncertainty[index]), 6))


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
