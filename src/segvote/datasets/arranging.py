"""What lies in a synthetic scene, and where: objects of random size, colour and angle, side by side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from segvote.datasets.composing import Sprite, recolour, transform
from segvote.datasets.cutouts import cut_card, cut_object

N_TRIES = 20  # places tried for an object of the clutter before it is left out
MAX_COVERED = 0.1  # part of an object that may lie over or under another
COIN_AREA = 0.006  # a coin's part of the image


def draw_object(name: str, area: float, appearances: int, rng: np.random.Generator) -> Sprite:
    """Draw the object that the *with* images show, in one of so many colours, evenly spread over the hues.

    `name` is a key of `segvote.datasets.cutouts.OBJECTS`, `area` its size in pixels.
    """
    cutout = cut_object(name, rng)
    turn = 360 * rng.integers(appearances) / appearances + rng.uniform(-5, 5)
    cutout = recolour(cutout, turn, rng.uniform(0.85, 1.1))
    return transform(cutout, area, rng.uniform(-1, 1) * cutout.max_turn, flip=rng.random() < 0.5)


def draw_clutter(names: list[str], n_pixels: int, rng: np.random.Generator) -> list[Sprite]:
    """Draw what lies about in the images of both folders, large objects first.

    Each of the named kinds occurs in about half of the scenes, coins in all; `n_pixels` of the image set the sizes.
    """
    cards = [_draw_card(n_pixels, rng) for _ in range(rng.integers(3, 6))]
    targets = [_draw_any(name, n_pixels, rng) for name in names if name != "coin" and rng.random() < 0.5]
    n_coins = rng.integers(2, 7) if "coin" in names else 0
    coins = [draw_object("coin", COIN_AREA * n_pixels * rng.uniform(0.7, 2), 1, rng) for _ in range(n_coins)]
    return cards + targets + coins


def _draw_card(n_pixels: int, rng: np.random.Generator) -> Sprite:
    return transform(cut_card(rng), rng.uniform(0.02, 0.09) * n_pixels, rng.uniform(-180, 180))


def _draw_any(name: str, n_pixels: int, rng: np.random.Generator) -> Sprite:
    """Draw an object in any colour."""
    cutout = cut_object(name, rng)
    cutout = recolour(cutout, rng.normal(0, 35), rng.uniform(0.6, 1.2))
    return transform(
        cutout, rng.uniform(0.015, 0.06) * n_pixels, rng.uniform(-1, 1) * cutout.max_turn, rng.random() < 0.5
    )


def place_inside(sprite: Sprite, height: int, width: int, rng: np.random.Generator) -> Sprite:
    """Put a sprite where all of it is seen, if the image is large enough for that."""
    room = np.array([height, width]) - sprite.alpha.shape
    top, left = (rng.integers(min(0, side), max(0, side) + 1) for side in room)
    return replace(sprite, top=int(top), left=int(left))


def place_on_border(sprite: Sprite, height: int, width: int, rng: np.random.Generator) -> Sprite:
    """Put a sprite so that a border of the image cuts off a fifth to two fifths of it."""
    inside = place_inside(sprite, height, width, rng)
    tall, broad = sprite.alpha.shape
    cut = rng.uniform(0.2, 0.4)
    side = rng.choice(["top", "bottom", "left", "right"])
    places = {
        "top": {"top": -round(cut * tall)},
        "bottom": {"top": height - round((1 - cut) * tall)},
        "left": {"left": -round(cut * broad)},
        "right": {"left": width - round((1 - cut) * broad)},
    }
    return replace(inside, **places[side])


def scatter(
    sprites: list[Sprite], placed: list[Sprite], height: int, width: int, rng: np.random.Generator
) -> list[Sprite]:
    """Sprites put down beside those already placed, which come first; one that finds no room is left out."""
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


def _find_room(sprite: Sprite, taken: np.ndarray, rng: np.random.Generator) -> Sprite | None:
    height, width = taken.shape
    for _ in range(N_TRIES):
        middle = rng.uniform(0, 1, size=2) * (height, width)
        top, left = np.round(middle - np.array(sprite.alpha.shape) / 2).astype(int)
        lying = replace(sprite, top=int(top), left=int(left))
        if np.sum(lying.spread(height, width)[1] * taken) <= MAX_COVERED * sprite.alpha.sum():
            return lying
    return None
