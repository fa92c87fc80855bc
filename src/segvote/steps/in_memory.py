"""Images in memory to masks in memory: an `annotate` in a temporary folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from segvote.errors import BadInputError
from segvote.io.files import open_scratch
from segvote.io.images import read_image, resize_labels
from segvote.io.progress_bar import choose_progress
from segvote.progress import Progress
from segvote.run.run import Run
from segvote.run.settings import Settings
from segvote.steps.annotate import annotate_folders
from segvote.steps.workers import Resources
from segvote.types import WITH, WITHOUT


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
    """Masks of the object that some images show and others do not; no file is left behind.

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
    given = {WITH: with_images, WITHOUT: without_images}
    if not (len(with_images) and len(without_images)):
        raise BadInputError(
            f"expected images of both kinds, got {len(with_images)} with and {len(without_images)} without"
        )
    settings = replace(settings or Settings(), frames="images")
    with choose_progress(progress) as report, open_scratch() as folder:
        for name, images in given.items():
            (folder / name).mkdir()
            for number, image in enumerate(images):
                pixels = _read_pixels(number, image)
                Image.fromarray(pixels).save(folder / name / f"{number:06d}.png", compress_level=1)
        resources, folders = Resources(n_jobs, progress=report), (folder / WITH, folder / WITHOUT)
        run = annotate_folders(*folders, folder / "run", settings, resources, strict=True)
        return [_read_result(run, index) for index in range(len(with_images))]


def _read_result(run: Run, index: int) -> ImageMask:
    bag, mask = run.bags[index], run.read_mask(index)
    scores = (run.votes["scores"][run.get_slice(index)] - bag.threshold).astype(np.float32)
    heatmap = scores[resize_labels(run.read_segments(index)["labels"], mask.shape)]
    return ImageMask(mask, heatmap, bag.uncertainty)


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
