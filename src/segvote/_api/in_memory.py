"""Images in memory to masks in memory, with no folder to name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from segvote._api.opened import OpenedRun
from segvote.errors import BadInputError
from segvote.io.files import open_scratch
from segvote.io.images import read_image
from segvote.io.progress_bar import draw_progress
from segvote.progress import Progress
from segvote.run.settings import Settings
from segvote.steps.annotate import annotate as run_annotate
from segvote.types import WITH, WITHOUT


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
    """Masks of the object that some images show and others do not; nothing is left on disk.

    Parameters
    ----------
    with_images, without_images
        Arrays, (h, w) or (h, w, 3) uint8, paths, or PIL images, in any mixture; all of them different.
    settings
        See `Settings`.
    n_jobs
        Number of processes; the answer does not depend on it.
    progress
        Called with step, done, total; None: a bar where somebody watches.

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
    with open_scratch() as folder, draw_progress() as bar:
        for name, images in ((WITH, with_images), (WITHOUT, without_images)):
            _write_images(folder / name, images)
        report = progress or bar
        made = run_annotate(
            folder / WITH, folder / WITHOUT, folder / "run", settings, n_jobs=n_jobs, strict=True, progress=report
        )
        found = OpenedRun(made.folder.path).images[: len(with_images)]
        uncertainty = np.array([one.uncertainty for one in found])
        return ImageMasks([one.mask for one in found], [one.heatmap for one in found], uncertainty)


def _write_images(folder: Path, images: Sequence[Any]) -> None:
    folder.mkdir()
    for number, image in enumerate(images):
        Image.fromarray(_read_pixels(image, number)).save(folder / f"{number:09d}.png", compress_level=1)


def _read_pixels(image: Any, number: int) -> np.ndarray:
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
    return pixels
