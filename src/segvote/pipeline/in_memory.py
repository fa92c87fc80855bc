"""Images in memory to masks in memory; no file is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from segvote.errors import BadInputError
from segvote.features import FeatureExtractor
from segvote.io.images import read_image, resize_image, resize_labels
from segvote.masks import Drawing, Superpixels, scale_heat
from segvote.masks.lines import LINE_SIZE
from segvote.masks.pieces import find_typical, measure_pieces
from segvote.method.extents import apply_extents
from segvote.pipeline.base_vote import BaseVote
from segvote.pipeline.contrast_prior import measure_image, prefer_contrast
from segvote.pipeline.drawing.choosing import name_refiner
from segvote.pipeline.drawing.images import draw_image
from segvote.pipeline.extract import extract_image, segment_image
from segvote.pipeline.looks import choose_look, list_looks
from segvote.pipeline.prepare import check_names
from segvote.pipeline.table import build_table
from segvote.pipeline.vote import hold_vote
from segvote.pipeline.workers import Resources, run_on_all
from segvote.selection import Selection
from segvote.settings import CONTRAST, Settings


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


def annotate_arrays(
    with_images: Sequence[Any], without_images: Sequence[Any], settings: Settings, resources: Resources = Resources()
) -> list[ImageMask]:
    """Masks of the *with* images, in their order; see `segvote.annotate_images`."""
    given = [_read_pixels(*one) for images in (with_images, without_images) for one in enumerate(images)]
    positive = np.arange(len(given)) < len(with_images)
    if positive.all() or not positive.any():
        raise BadInputError(
            f"expected images of both kinds, got {len(with_images)} with and {len(without_images)} without"
        )
    if settings.adapt:
        raise BadInputError("expected folders with adapt, got images in memory; use segvote.annotate")
    shown = {image.tobytes(): number for number, image in enumerate(given[: len(with_images)])}
    for number, image in enumerate(given[len(with_images) :]):
        if (other := shown.get(image.tobytes())) is not None:
            raise BadInputError(f"with image {other} and without image {number} are the same; remove one")
    return _annotate(given, positive, settings, resources)


def _annotate(
    images: list[np.ndarray], positive: np.ndarray, settings: Settings, resources: Resources
) -> list[ImageMask]:
    """Masks of the *with* images, which are the first, by the first look or by a closer one that is better."""
    looks = [(look, check_names(look)) for look in list_looks(settings)]
    items = list(zip(images, positive.tolist(), strict=True))
    segmented = list(run_on_all(partial(_segment_item, settings), items, resources, "segment"))
    segments = [geometry for geometry, _ in segmented]
    base, look = choose_look(looks, partial(_vote, images, segments, positive, resources))
    selection = apply_extents(base.selection, base.find_extents(base.selection), look.extent)
    low = float(selection.scores.min())
    shown = [
        measure_pieces(selection.take(index).selected.take(segments[index]["labels"]))
        for index in map(int, np.flatnonzero(positive))
    ]
    drawing = Drawing("segments" if look.draw == "segments" else "regions", **name_refiner(look))
    drawing = replace(drawing, typical_piece=find_typical(np.concatenate(shown)))
    masks = []
    for index in map(int, np.flatnonzero(positive)):
        masks.append(_draw(images[index], *segmented[index], selection.take(index), low, drawing))
        resources.progress("draw masks", len(masks), int(positive.sum()))
    return masks


def _vote(
    images: list[np.ndarray],
    segments: list[dict[str, np.ndarray]],
    positive: np.ndarray,
    resources: Resources,
    look: Settings,
    extractor: FeatureExtractor,
) -> tuple[BaseVote, Settings]:
    """The vote on the features of one look, and its settings."""
    if extractor.needs_fit:
        extractor.fit(iter(images), np.random.default_rng(look.seed))
    items = [(image, geometry["labels"]) for image, geometry in zip(images, segments, strict=True)]
    features = list(run_on_all(partial(_extract_item, look, extractor), items, resources, "extract features"))
    table, _ = build_table(features, segments, positive, extractor, look)
    if look.detail == CONTRAST:
        table = prefer_contrast(table, list(run_on_all(_measure_peaks, items, resources)))
    return hold_vote(table, look), look


def _segment_item(
    settings: Settings, item: tuple[np.ndarray, bool]
) -> tuple[dict[str, np.ndarray], Superpixels | None]:
    """As for a bag of a run: *with* images get masks, so their superpixels are computed along with the segments."""
    image, is_positive = item
    return segment_image(settings, image, image.shape[:2], is_positive)


def _extract_item(look: Settings, extractor: FeatureExtractor, item: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return extract_image(look, extractor, *item)


def _measure_peaks(item: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    image, labels = item
    return measure_image(resize_image(image, LINE_SIZE), labels)


def _draw(
    image: np.ndarray,
    segments: dict[str, np.ndarray],
    superpixels: Superpixels | None,
    selection: Selection,
    low: float,
    drawing: Drawing,
) -> ImageMask:
    """The mask of one image by its own selection; `low` is the lowest score of all images."""
    labels, scores, threshold = segments["labels"], selection.scores, float(selection.thresholds[0])
    heat = scale_heat(scores, threshold, low).astype(np.float32)
    heatmap = (scores - threshold).astype(np.float32)[resize_labels(labels, image.shape[:2])]
    mask = draw_image(image, selection, labels, heat, drawing, superpixels)
    return ImageMask(mask, heatmap, round(float(selection.uncertainty[0]), 6))


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
