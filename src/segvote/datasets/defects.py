"""Synthetic surfaces with small defects: brick, grass, gravel and sand at 1024 pixels, 0.1 to 0.5 % of each *with*
image damaged in one way, exact masks; seeded, no download.

The mask is as many of the lowest pixels of a field (`defect_shapes`) as the area asks for. Pixels outside the mask
are those of the undamaged surface.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from segvote.datasets.composing import GROUNDS, paint_ground
from segvote.datasets.defect_shapes import DEFECTS
from segvote.datasets.scenes import Scene, write_all
from segvote.errors import BadInputError, UnknownNameError
from segvote.types import WITH, WITHOUT


@dataclass(frozen=True)
class SurfaceStyle:
    """What surfaces look like."""

    kind: str = "stain"  # a key of `DEFECTS`: what the *with* images show
    ground: str = "gravel"  # the surface of all images: ``brick``, ``grass``, ``gravel`` or ``sand``
    size: int = 1024  # width and height in pixels
    area: tuple[float, float] = (0.001, 0.005)  # smallest and largest part of the image that is damaged

    def __post_init__(self) -> None:
        for name, value, known in (("defect", self.kind, DEFECTS), ("ground", self.ground, GROUNDS)):
            if value not in known:
                raise UnknownNameError(f"unknown {name} {value!r}; the known ones are: {', '.join(known)}")
        low, high = self.area
        if self.size < 64:
            raise BadInputError(f"expected surfaces of at least 64 pixels, got {self.size}; choose a larger size")
        if not 10 / self.size**2 <= low <= high <= 0.05:
            raise BadInputError(
                f"expected two rising parts of the image, at least ten pixels and at most 0.05, got {self.area}"
            )


def make_surfaces(
    n_with: int = 20,
    n_without: int = 20,
    seed: int = 0,
    *,
    kind: str = SurfaceStyle.kind,
    ground: str = SurfaceStyle.ground,
    size: int = SurfaceStyle.size,
    area: tuple[float, float] = SurfaceStyle.area,
) -> Iterator[Scene]:
    """Make surfaces one after another, those with a defect first.

    Parameters
    ----------
    n_with, n_without
        Number of images of each bag label.
    seed
        Equal seeds give equal surfaces; one does not depend on how many others there are.
    kind, ground, size, area
        As in `SurfaceStyle`.

    Examples
    --------
    >>> from segvote.datasets import make_surfaces
    >>> scratched = next(make_surfaces(1, 0, kind="scratch", size=256, area=(0.002, 0.002)))
    >>> scratched.image.shape, int(scratched.mask.sum())
    ((256, 256, 3), 131)
    """
    style = SurfaceStyle(kind, ground, size, area)
    for bag_label, count in ((WITH, n_with), (WITHOUT, n_without)):
        for index in range(count):
            yield make_surface(bag_label, index, seed, style)


def write_surfaces(
    folder: Path | str,
    n_with: int = 20,
    n_without: int = 20,
    seed: int = 0,
    *,
    kind: str = SurfaceStyle.kind,
    ground: str = SurfaceStyle.ground,
    size: int = SurfaceStyle.size,
    area: tuple[float, float] = SurfaceStyle.area,
) -> None:
    """Write surfaces as ``with/``, ``without/`` and ``masks/`` below a folder: the neutral layout, PNG files.

    Parameters
    ----------
    folder
        Made if absent; files of the same names are replaced.
    n_with, n_without, seed, kind, ground, size, area
        As in `make_surfaces`.
    """
    write_all(Path(folder), make_surfaces(n_with, n_without, seed, kind=kind, ground=ground, size=size, area=area))


def make_surface(bag_label: str, index: int, seed: int, style: SurfaceStyle, damaged: bool = True) -> Scene:
    """Make one surface; the same arguments give the same one. `damaged` False leaves it as it was before the damage."""
    entropy = [seed, index, int(bag_label == WITH)]
    # The pictures have 512 pixels; they are shown at about their own size and go on mirrored.
    rng = np.random.default_rng(entropy)
    ground = paint_ground([style.ground], style.size, style.size, rng, n_shown=style.size)
    surface = _light(ground, np.random.default_rng([*entropy, 1]))
    mask = np.zeros((style.size, style.size), dtype=bool)
    if bag_label == WITH and damaged:
        rng = np.random.default_rng([*entropy, 2])
        draw, damage = DEFECTS[style.kind]
        n_pixels = round(rng.uniform(*style.area) * style.size**2)
        mask = _take_lowest(draw(style.size, n_pixels, rng), n_pixels)
        surface = np.where(mask[..., None], damage(surface, rng), surface)
    image = (np.clip(surface, 0, 1) * 255).round().astype(np.uint8)
    return Scene(f"{bag_label}-{index:03d}", bag_label, image, mask)


def _light(surface: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Light from one side and the grain of a camera, as steady as where parts are inspected."""
    y, x = np.mgrid[-1 : 1 : len(surface) * 1j, -1 : 1 : len(surface) * 1j]
    angle = rng.uniform(0, 2 * np.pi)
    fall = rng.uniform(0.85, 1.0) * (1 + 0.12 * (x * np.cos(angle) + y * np.sin(angle)))
    return np.clip(surface * fall[..., None] + rng.normal(0, 0.012, (*surface.shape[:2], 1)), 0, 1)


def _take_lowest(field: np.ndarray, n_pixels: int) -> np.ndarray:
    mask = np.zeros(field.size, dtype=bool)
    mask[np.argsort(field, axis=None, kind="stable")[:n_pixels]] = True
    return mask.reshape(field.shape)
