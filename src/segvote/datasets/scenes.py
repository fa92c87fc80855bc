"""Synthetic scenes: still lifes on grass, gravel, brick and sand, with exact masks; seeded, no download.

The *with* images show an object (a coffee cup), the *without* images do not; both show the same clutter: coins,
flowers, paper horses, badges, and picture cards of which no two are alike. Cards and badly exposed photographs are far
from every negative, which misleads voters that look for that; but they do not repeat, which the object does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image

from segvote.datasets.composing import GROUNDS, develop, paint_ground, paint_sprite, recolour, transform
from segvote.datasets.cutouts import OBJECTS, Cutout, cut_card, cut_object
from segvote.errors import BadInputError, UnknownNameError
from segvote.io.atomic import write_bytes
from segvote.io.masks import encode_png, write_mask
from segvote.types import WITH, WITHOUT

N_TRIES = 20  # places tried for an object of the clutter before it is left out
MAX_COVERED = 0.1  # part of an object that may lie over or under another
COIN_AREA = 0.006  # a coin's part of the image
SIZE, OBJECT_AREA = (320, 240), (0.03, 0.1)


@dataclass(frozen=True)
class Scene:
    """A synthetic image."""

    name: str  # file name without extension, unique over both bag labels
    bag_label: str  # ``"with"`` or ``"without"``
    image: np.ndarray  # (h, w, 3) uint8
    mask: np.ndarray  # (h, w) bool; the object's visible pixels, none in an image without


def make_scenes(
    n_with: int = 24,
    n_without: int = 24,
    seed: int = 0,
    *,
    size: tuple[int, int] = SIZE,
    target: str = "cup",
    object_area: tuple[float, float] = OBJECT_AREA,
) -> Iterator[Scene]:
    """Make scenes one after another, those with the object first.

    Parameters
    ----------
    n_with, n_without : int
        Number of images of each bag label.
    seed : int
        Equal seeds give equal scenes; a scene does not depend on how many others there are.
    size : tuple of int
        Width and height in pixels.
    target : str
        A key of `segvote.datasets.cutouts.OBJECTS`: the object of the *with* images.
    object_area : tuple of float
        Smallest and largest part of the image that the object covers.

    Yields
    ------
    Scene
    """
    low, high = object_area
    if min(size) < 32:
        raise BadInputError(f"a scene must be at least 32 pixels wide and high, got {size}")
    if target not in OBJECTS:
        raise UnknownNameError(f"unknown object {target!r}; the known ones are: {', '.join(OBJECTS)}")
    if not 0 < low <= high <= 0.4:
        raise BadInputError(f"object_area must be two rising parts of the image up to 0.4, got {object_area}")
    for bag_label, count in ((WITH, n_with), (WITHOUT, n_without)):
        for index in range(count):
            yield _make_scene(bag_label, index, seed, size, target, object_area)


def write_scenes(
    folder: Path | str,
    n_with: int = 24,
    n_without: int = 24,
    seed: int = 0,
    *,
    size: tuple[int, int] = SIZE,
    target: str = "cup",
    object_area: tuple[float, float] = OBJECT_AREA,
) -> None:
    """Write scenes as ``with/``, ``without/`` and ``masks/`` below a folder: the neutral layout, PNG files.

    Parameters
    ----------
    folder : path or str
        Made if absent; files of the same names are replaced.
    n_with, n_without, seed, size, target, object_area
        As in `make_scenes`.
    """
    scenes = make_scenes(n_with, n_without, seed, size=size, target=target, object_area=object_area)
    write_all(Path(folder), scenes)


def write_all(folder: Path, scenes: Iterable[Scene]) -> None:
    """Write synthetic images in the neutral layout."""
    for scene in scenes:
        write_bytes(folder / scene.bag_label / f"{scene.name}.png", encode_png(Image.fromarray(scene.image)))
        if scene.bag_label == WITH:
            write_mask(folder / "masks" / f"{scene.name}.png", scene.mask)


def _make_scene(
    bag_label: str, index: int, seed: int, size: tuple[int, int], target: str, object_area: tuple[float, float]
) -> Scene:
    """Make one scene; the same arguments give the same scene."""
    rng = np.random.default_rng([seed, index, bag_label == WITH])
    width, height = size
    grounds = rng.permutation(list(GROUNDS))[: rng.integers(1, 3)].tolist()
    scene = paint_ground(grounds, height, width, rng)
    wanted = [target] if bag_label == WITH else []
    placed = [
        place_inside(draw_object(name, rng.uniform(*object_area) * width * height, rng), height, width, rng)
        for name in wanted
    ]
    clutter = draw_clutter([name for name in OBJECTS if name != target], width * height, rng)
    placed = scatter(clutter, placed, height, width, rng)
    order = rng.permutation(len(placed))
    light = rng.normal(0, 1, size=2)
    light *= 0.016 * width / np.hypot(*light)
    mask = np.zeros((height, width), dtype=np.float32)
    for number in order:
        scene, alpha = paint_sprite(scene, placed[number], light)
        mask = np.maximum(mask * (1 - alpha), alpha if wanted and number == 0 else 0)
    return Scene(f"{bag_label}-{index:03d}", bag_label, develop(scene, rng), mask > 0.5)


def draw_object(name: str, area: float, rng: np.random.Generator) -> Cutout:
    """Draw an object, a key of `segvote.datasets.cutouts.OBJECTS`, at a size in pixels."""
    cutout = recolour(cut_object(name, rng), rng.uniform(-5, 5), rng.uniform(0.85, 1.1))
    return transform(cutout, area, rng.uniform(-1, 1) * cutout.max_turn, flip=rng.random() < 0.5)


def draw_clutter(names: list[str], n_pixels: int, rng: np.random.Generator) -> list[Cutout]:
    """Draw the clutter of the images of both folders, large objects first.

    Each of the named kinds occurs in about half of the scenes, coins in all; `n_pixels` of the image set the sizes.
    """
    cards = [_draw_card(n_pixels, rng) for _ in range(rng.integers(3, 6))]
    targets = [_draw_any(name, n_pixels, rng) for name in names if name != "coin" and rng.random() < 0.5]
    n_coins = rng.integers(2, 7) if "coin" in names else 0
    coins = [draw_object("coin", COIN_AREA * n_pixels * rng.uniform(0.7, 2), rng) for _ in range(n_coins)]
    return cards + targets + coins


def _draw_card(n_pixels: int, rng: np.random.Generator) -> Cutout:
    return transform(cut_card(rng), rng.uniform(0.02, 0.09) * n_pixels, rng.uniform(-180, 180))


def _draw_any(name: str, n_pixels: int, rng: np.random.Generator) -> Cutout:
    """Draw an object in any colour."""
    cutout = cut_object(name, rng)
    cutout = recolour(cutout, rng.normal(0, 35), rng.uniform(0.6, 1.2))
    return transform(
        cutout, rng.uniform(0.015, 0.06) * n_pixels, rng.uniform(-1, 1) * cutout.max_turn, rng.random() < 0.5
    )


def place_inside(sprite: Cutout, height: int, width: int, rng: np.random.Generator) -> Cutout:
    """Put a sprite where all of it is seen, if the image is large enough for that."""
    room = np.array([height, width]) - sprite.alpha.shape
    top, left = (rng.integers(min(0, side), max(0, side) + 1) for side in room)
    return replace(sprite, top=int(top), left=int(left))


def scatter(
    sprites: list[Cutout], placed: list[Cutout], height: int, width: int, rng: np.random.Generator
) -> list[Cutout]:
    """Sprites put down beside those already placed, which come first; one that does not fit is left out."""
    placed = list(placed)
    taken = np.zeros((height, width), dtype=np.float32)
    for sprite in placed:
        taken = np.maximum(taken, sprite.spread(height, width)[1])
    for sprite in sprites:
        lying = _find_room(sprite, taken, rng)
        if lying is not None:
            placed.append(lying)
            taken = np.maximum(taken, lying.spread(height, width)[1])
    return placed


def _find_room(sprite: Cutout, taken: np.ndarray, rng: np.random.Generator) -> Cutout | None:
    height, width = taken.shape
    for _ in range(N_TRIES):
        middle = rng.uniform(0, 1, size=2) * (height, width)
        top, left = np.round(middle - np.array(sprite.alpha.shape) / 2).astype(int)
        lying = replace(sprite, top=int(top), left=int(left))
        if np.sum(lying.spread(height, width)[1] * taken) <= MAX_COVERED * sprite.alpha.sum():
            return lying
    return None
