"""Synthetic scenes: still lifes on grass, gravel, brick and sand, with exact masks; seeded, no download.

The *with* images show an object (a coffee cup), the *without* images do not; both show the same clutter: coins,
flowers, paper horses, badges, and picture cards of which no two are alike. Cards, and photographs that turned out
badly, are far from every negative, which misleads voters that look for that; but they do not
repeat, which the object does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from segvote.datasets.arranging import draw_clutter, draw_object, place_inside, place_on_border, scatter
from segvote.datasets.composing import GROUNDS, Sprite, develop, paint_ground, paint_sprite
from segvote.datasets.cutouts import OBJECTS
from segvote.errors import BadInputError, UnknownNameError
from segvote.io.atomic import write_bytes
from segvote.io.masks import encode_png, write_mask
from segvote.types import WITH, WITHOUT

SHARED_GROUND = "brick"  # what all *with* images stand on when they share a scene


@dataclass(frozen=True)
class Scene:
    """A made image."""

    name: str  # file name without extension, unique over both bag labels
    bag_label: str  # ``"with"`` or ``"without"``
    image: np.ndarray  # (h, w, 3) uint8
    mask: np.ndarray  # (h, w) bool; the object's visible pixels, none in an image without


@dataclass(frozen=True)
class SceneStyle:
    """What scenes look like."""

    size: tuple[int, int] = (320, 240)  # width and height in pixels
    target: str = "cup"  # a key of `segvote.datasets.cutouts.OBJECTS`: what the *with* images show
    appearances: int = 1  # in how many colours the object occurs; 1: always its own
    # Smallest and largest part of the image that the object covers, before the border cuts it.
    object_area: tuple[float, float] = (0.03, 0.1)
    shared_scene: bool = False  # all *with* images stand on one ground that no *without* image shows
    touch_border: bool = False  # the object is always cut by the border of the image; otherwise it lies inside

    def __post_init__(self) -> None:
        low, high = self.object_area
        if min(self.size) < 32:
            raise BadInputError(f"a scene must be at least 32 pixels wide and high, got {self.size}")
        if self.target not in OBJECTS:
            raise UnknownNameError(f"unknown object {self.target!r}; the known ones are: {', '.join(OBJECTS)}")
        if self.appearances < 1:
            raise BadInputError(f"an object has at least one appearance, got {self.appearances}")
        if not 0 < low <= high <= 0.4:
            raise BadInputError(f"object_area must be two rising parts of the image up to 0.4, got {self.object_area}")


def make_scenes(n_with: int = 24, n_without: int = 24, seed: int = 0, **style: Any) -> Iterator[Scene]:
    """Make scenes one after another, those with the object first.

    Parameters
    ----------
    n_with, n_without
        Number of images of each bag label.
    seed
        Equal seeds give equal scenes; a scene does not depend on how many others there are.
    **style
        Fields of `SceneStyle`.

    Yields
    ------
    Scene
    """
    checked = SceneStyle(**style)
    for bag_label, count in ((WITH, n_with), (WITHOUT, n_without)):
        for index in range(count):
            yield make_scene(bag_label, index, seed, checked)


def write_scenes(folder: Path | str, n_with: int = 24, n_without: int = 24, seed: int = 0, **style: Any) -> None:
    """Write scenes as ``with/``, ``without/`` and ``masks/`` below a folder: the neutral layout, PNG files.

    Parameters
    ----------
    folder
        Made if absent; files of the same names are replaced.
    n_with, n_without, seed, **style
        As in `make_scenes`.
    """
    write_all(Path(folder), make_scenes(n_with, n_without, seed, **style))


def write_all(folder: Path, scenes: Iterable[Scene]) -> None:
    """Write made images in the neutral layout."""
    for scene in scenes:
        write_bytes(folder / scene.bag_label / f"{scene.name}.png", encode_png(Image.fromarray(scene.image)))
        if scene.bag_label == WITH:
            write_mask(folder / "masks" / f"{scene.name}.png", scene.mask)


def make_scene(bag_label: str, index: int, seed: int, style: SceneStyle) -> Scene:
    """Make one scene; the same arguments give the same scene."""
    rng = np.random.default_rng([seed, index, bag_label == WITH])
    width, height = style.size
    scene = paint_ground(_choose_grounds(bag_label, style, rng), height, width, rng)
    sprites, target_index = _arrange(bag_label, style, rng)
    light = rng.normal(0, 1, size=2)
    light *= 0.016 * width / np.hypot(*light)
    target = np.zeros((height, width), dtype=np.float32)
    for sprite_index, sprite in enumerate(sprites):
        scene, alpha = paint_sprite(scene, sprite, light)
        target = np.maximum(target * (1 - alpha), alpha if sprite_index == target_index else 0)
    return Scene(f"{bag_label}-{index:03d}", bag_label, develop(scene, rng), target > 0.5)


def _choose_grounds(bag_label: str, style: SceneStyle, rng: np.random.Generator) -> list[str]:
    if style.shared_scene and bag_label == WITH:
        return [SHARED_GROUND]
    names = [name for name in GROUNDS if not (style.shared_scene and name == SHARED_GROUND)]
    return rng.permutation(names)[: rng.integers(1, 3)].tolist()


def _arrange(bag_label: str, style: SceneStyle, rng: np.random.Generator) -> tuple[list[Sprite], int]:
    """Choose and place everything, in the order of painting; and where in that order the object is, or -1."""
    width, height = style.size
    placed: list[Sprite] = []
    if bag_label == WITH:
        area = rng.uniform(*style.object_area) * width * height
        target = draw_object(style.target, area, style.appearances, rng)
        put = place_on_border if style.touch_border else place_inside
        placed.append(put(target, height, width, rng))
    clutter = draw_clutter([name for name in OBJECTS if name != style.target], width * height, rng)
    placed = scatter(clutter, placed, height, width, rng)
    order = rng.permutation(len(placed))
    return [placed[i] for i in order], int(np.flatnonzero(order == 0)[0]) if bag_label == WITH else -1
