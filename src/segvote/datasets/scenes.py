"""Synthetic scenes: still lifes on grass, gravel, brick and sand, with exact masks; seeded, no download.

The *with* images show an object (a coffee cup), the *without* images do not; both show the same clutter: coins,
flowers, paper horses, badges, and picture cards of which no two are alike. Cards and badly exposed photographs are far
from every negative, which misleads voters that look for that; but they do not repeat, which the object does.

A scene is painted in float32 RGB in [0, 1]. Each function draws from the generator it is given and from nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from segvote.datasets.cutouts import OBJECTS, Cutout, cut_card, cut_object, open_bundled
from segvote.errors import BadInputError
from segvote.io.files import write_bytes
from segvote.io.masks import encode_png, write_mask
from segvote.registry import check_known
from segvote.types import WITH, WITHOUT

N_TRIES = 20  # places tried for an object of the clutter before it is left out
MAX_COVERED = 0.1  # part of an object that may lie over or under another
COIN_AREA = 0.006  # a coin's part of the image
N_SHOWN = 400  # pixels of a ground's picture, which has 512, that fill the width of a still life

# Ground: picture, and pairs of colours for its dark and its light parts.
GROUNDS: dict[str, tuple[str, tuple]] = {
    "brick": ("brick.png", (((0.25, 0.11, 0.08), (0.86, 0.60, 0.48)), ((0.22, 0.22, 0.24), (0.80, 0.78, 0.74)))),
    "grass": ("grass.png", (((0.07, 0.13, 0.03), (0.68, 0.80, 0.36)), ((0.17, 0.14, 0.05), (0.86, 0.80, 0.50)))),
    "gravel": ("gravel.png", (((0.12, 0.11, 0.11), (0.88, 0.85, 0.81)), ((0.20, 0.13, 0.08), (0.93, 0.80, 0.64)))),
    "sand": ("moon.png", (((0.52, 0.40, 0.25), (0.98, 0.89, 0.70)), ((0.42, 0.42, 0.42), (0.93, 0.92, 0.90)))),
}


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
    size: tuple[int, int] = (320, 240),
    target: str = "cup",
    object_area: tuple[float, float] = (0.03, 0.1),
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
        The object of the *with* images: badge, coin, cup, flower, horse or plate.
    object_area : tuple of float
        Smallest and largest part of the image that the object covers.

    Yields
    ------
    Scene
    """
    low, high = object_area
    if min(size) < 32:
        raise BadInputError(f"a scene must be at least 32 pixels wide and high, got {size}")
    check_known(target, OBJECTS, "object")
    if not 0 < low <= high <= 0.4:
        raise BadInputError(f"object_area must be two rising parts of the image up to 0.4, got {object_area}")
    for bag_label, count in ((WITH, n_with), (WITHOUT, n_without)):
        for index in range(count):
            rng = np.random.default_rng([seed, index, bag_label == WITH])
            image, mask = _compose(rng, size, target, object_area if bag_label == WITH else None)
            yield Scene(f"{bag_label}-{index:03d}", bag_label, image, mask)


def write_scenes(folder: Path | str, scenes: Iterable[Scene]) -> None:
    """Write scenes as ``with/``, ``without/`` and ``masks/`` below a folder: the neutral layout, PNG files.

    Parameters
    ----------
    folder : path or str
        Made if absent; files of the same names are replaced.
    scenes : iterable of Scene
        From `make_scenes` or `make_surfaces`.
    """
    folder = Path(folder)
    for scene in scenes:
        write_bytes(folder / scene.bag_label / f"{scene.name}.png", encode_png(Image.fromarray(scene.image)))
        if scene.bag_label == WITH:
            write_mask(folder / "masks" / f"{scene.name}.png", scene.mask)


def _compose(
    rng: np.random.Generator, size: tuple[int, int], target: str, object_area: tuple[float, float] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Image and mask of one scene; without the target where `object_area` is None."""
    width, height = size
    grounds = rng.permutation(list(GROUNDS))[: rng.integers(1, 3)].tolist()
    scene = paint_ground(grounds, height, width, rng)
    placed = []
    if object_area is not None:
        sprite = draw_object(target, rng.uniform(*object_area) * width * height, rng)
        placed.append(_place_inside(sprite, height, width, rng))
    clutter = _draw_clutter([name for name in OBJECTS if name != target], width * height, rng)
    _scatter(clutter, placed, height, width, rng)
    order = rng.permutation(len(placed))
    light = rng.normal(0, 1, size=2)
    light *= 0.016 * width / np.hypot(*light)
    mask = np.zeros((height, width), dtype=np.float32)
    for number in order:
        scene, alpha = paint_sprite(scene, placed[number], light)
        mask = np.maximum(mask * (1 - alpha), alpha if object_area is not None and number == 0 else 0)
    return _photograph(scene, rng), mask > 0.5


# Objects -------------------------------------------------------------------------------------------------------------


def draw_object(name: str, area: float, rng: np.random.Generator) -> Cutout:
    """Draw an object, a key of `segvote.datasets.cutouts.OBJECTS`, at a size in pixels."""
    cutout = _recolour(cut_object(name, rng), rng.uniform(-5, 5), rng.uniform(0.85, 1.1))
    return transform(cutout, area, rng.uniform(-1, 1) * cutout.max_turn, flip=rng.random() < 0.5)


def _draw_clutter(names: list[str], n_pixels: int, rng: np.random.Generator) -> list[Cutout]:
    """Draw the clutter of the images of both folders, large objects first.

    Each of the named kinds occurs in about half of the scenes, coins in all; `n_pixels` of the image set the sizes.
    """
    cards = [
        transform(cut_card(rng), rng.uniform(0.02, 0.09) * n_pixels, rng.uniform(-180, 180))
        for _ in range(rng.integers(3, 6))
    ]
    others = [_draw_in_any_colour(name, n_pixels, rng) for name in names if name != "coin" and rng.random() < 0.5]
    n_coins = rng.integers(2, 7) if "coin" in names else 0
    coins = [draw_object("coin", COIN_AREA * n_pixels * rng.uniform(0.7, 2), rng) for _ in range(n_coins)]
    return cards + others + coins


def _draw_in_any_colour(name: str, n_pixels: int, rng: np.random.Generator) -> Cutout:
    cutout = _recolour(cut_object(name, rng), rng.normal(0, 35), rng.uniform(0.6, 1.2))
    area = rng.uniform(0.015, 0.06) * n_pixels
    return transform(cutout, area, rng.uniform(-1, 1) * cutout.max_turn, rng.random() < 0.5)


def _recolour(cutout: Cutout, turn: float, strength: float) -> Cutout:
    """Turn the hues of a cutout by degrees and multiply its colourfulness."""
    hsv = cv2.cvtColor(cutout.image, cv2.COLOR_RGB2HSV)
    hsv[..., 0] = (hsv[..., 0] + turn) % 360
    hsv[..., 1] = np.clip(hsv[..., 1] * strength, 0, 1)
    return replace(cutout, image=cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB))


def transform(cutout: Cutout, area: float, angle: float, flip: bool = False) -> Cutout:
    """Scale a cutout to an area in pixels and turn it by degrees."""
    scale = float(np.sqrt(area / cutout.alpha.sum()))
    layers = np.dstack([cutout.image * cutout.alpha[..., None], cutout.alpha])
    layers = layers[:, ::-1] if flip else layers
    size = [max(2, round(side * scale)) for side in layers.shape[1::-1]]
    small = cv2.resize(layers, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    turned = _turn(small, angle)
    alpha = np.clip(turned[..., 3], 0, 1)
    # Colours were multiplied by alpha so that the old background does not bleed in; divide it out again.
    image = np.clip(turned[..., :3] / np.maximum(alpha, 1e-3)[..., None], 0, 1)
    return Cutout(image, alpha)


def _turn(layers: np.ndarray, angle: float) -> np.ndarray:
    """Turn layers about their middle on a canvas that holds all of them."""
    height, width = layers.shape[:2]
    cos, sin = abs(np.cos(np.radians(angle))), abs(np.sin(np.radians(angle)))
    canvas = int(np.ceil(width * cos + height * sin)) + 2, int(np.ceil(width * sin + height * cos)) + 2
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), angle, 1.0)
    matrix[:, 2] = matrix[:, 2] + (np.array(canvas) - [width, height]) / 2
    return cv2.warpAffine(layers, matrix, canvas, flags=cv2.INTER_LINEAR)


def _place_inside(sprite: Cutout, height: int, width: int, rng: np.random.Generator) -> Cutout:
    """Put a sprite where all of it is seen, if the image is large enough for that."""
    room = np.array([height, width]) - sprite.alpha.shape
    top, left = (rng.integers(min(0, side), max(0, side) + 1) for side in room)
    return replace(sprite, top=int(top), left=int(left))


def _scatter(sprites: list[Cutout], placed: list[Cutout], height: int, width: int, rng: np.random.Generator) -> None:
    """Add sprites to those placed, in free places; a sprite that finds none is left out."""
    taken = np.zeros((height, width), dtype=np.float32)
    for sprite in placed:
        taken = np.maximum(taken, sprite.spread(height, width)[1])
    for sprite in sprites:
        for _ in range(N_TRIES):
            middle = rng.uniform(0, 1, size=2) * (height, width)
            top, left = np.round(middle - np.array(sprite.alpha.shape) / 2).astype(int)
            lying = replace(sprite, top=int(top), left=int(left))
            alpha = lying.spread(height, width)[1]
            if np.sum(alpha * taken) <= MAX_COVERED * sprite.alpha.sum():
                placed.append(lying)
                taken = np.maximum(taken, alpha)
                break


# Painting ------------------------------------------------------------------------------------------------------------


def paint_ground(
    names: list[str], height: int, width: int, rng: np.random.Generator, n_shown: int = N_SHOWN
) -> np.ndarray:
    """(height, width, 3) float32 in [0, 1]: one ground, or two that meet in a wavy line; names are keys of `GROUNDS`.

    About `n_shown` pixels of the picture fill the width; beyond its edge it goes on mirrored.
    """
    ground = _paint_texture(names[0], height, width, rng, n_shown)
    for name in names[1:]:
        share = _draw_side(height, width, rng)[..., None]
        ground = ground * (1 - share) + _paint_texture(name, height, width, rng, n_shown) * share
    return ground


def _paint_texture(name: str, height: int, width: int, rng: np.random.Generator, n_shown: int) -> np.ndarray:
    file_name, tints = GROUNDS[name]
    grey = open_bundled(f"skimage/data/{file_name}", "L")
    scale = rng.uniform(0.7, 1.3) * width / n_shown
    turned = _cut_window(grey, rng.uniform(0, 360), scale, rng.uniform(150, 362, size=2), height, width)
    low, high = np.quantile(grey, [0.01, 0.99])
    level = np.clip((turned - float(low)) / float(high - low), 0, 1)[..., None]
    pair = np.array(tints[rng.integers(len(tints))])
    dark, light = pair * rng.uniform(0.88, 1.08, size=(2, 1)) * rng.uniform(0.94, 1.06, size=3)
    return np.clip(dark + level * (light - dark), 0, 1).astype(np.float32)


def _cut_window(
    picture: np.ndarray, angle: float, scale: float, centre: np.ndarray, height: int, width: int
) -> np.ndarray:
    """Cut a turned and scaled window around a centre out of a texture."""
    if scale < 1:  # averaging first keeps fine texture from flickering
        picture = cv2.GaussianBlur(picture, (0, 0), 0.4 / scale)
    matrix = cv2.getRotationMatrix2D(tuple(map(float, centre)), angle, scale)
    matrix[:, 2] += np.array([width, height]) / 2 - centre
    return cv2.warpAffine(picture, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)


def _draw_side(height: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the part of a scene on one side of a wavy line: (height, width) in [0, 1]."""
    y, x = np.mgrid[:height, :width].astype(np.float32) / max(height, width) - 0.4
    angle, phase = rng.uniform(0, 2 * np.pi, size=2)
    across, along = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    line = rng.uniform(-0.1, 0.25) + rng.uniform(0.01, 0.06) * np.sin(along * rng.uniform(4, 12) + phase)
    return np.clip((across - line) * max(height, width) / 2 + 0.5, 0, 1).astype(np.float32)


def paint_sprite(scene: np.ndarray, sprite: Cutout, light: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scene (h, w, 3) with a sprite and its shadow, and how much of each pixel (h, w) the sprite took.

    `light` is (2,) where the shadow falls, rows and columns in pixels.
    """
    height, width = scene.shape[:2]
    image, alpha = sprite.spread(height, width)
    moved = replace(sprite, top=sprite.top + round(light[0]), left=sprite.left + round(light[1]))
    shadow = cv2.GaussianBlur(moved.spread(height, width)[1], (0, 0), 0.6 * float(np.hypot(*light)) + 0.5)
    scene = scene * (1 - 0.55 * shadow[..., None])
    return scene * (1 - alpha[..., None]) + image * alpha[..., None], alpha


def _photograph(scene: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Photograph the scene, well or badly, in light from one side, warm or cold: (h, w, 3) uint8."""
    height, width = scene.shape[:2]
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    angle, warmth = rng.uniform(0, 2 * np.pi), rng.normal(0, 0.08)
    fall = 1 + rng.uniform(0, 0.35) * (x * np.cos(angle) + y * np.sin(angle)) - 0.08 * (x**2 + y**2)
    exposed = scene * fall[..., None] * rng.uniform(0.65, 1.2) * np.array([1 + warmth, 1, 1 - warmth])
    grey = exposed.mean(axis=2, keepdims=True)
    exposed = grey + (exposed - grey) * rng.uniform(0.6, 1.1)
    blurred = cv2.GaussianBlur(exposed, (0, 0), width / 320 * rng.choice([0.1, 0.5, 1.2], p=[0.5, 0.3, 0.2]))
    grain = rng.normal(0, rng.choice([0.008, 0.02, 0.035], p=[0.5, 0.3, 0.2]), size=(height, width, 1))
    return (np.clip(blurred + grain, 0, 1) * 255).round().astype(np.uint8)
