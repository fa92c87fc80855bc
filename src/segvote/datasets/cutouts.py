"""Objects cut out of pictures in the wheels of scikit-image and scikit-learn, for synthetic scenes.

Pictures are opened as files: the functions of `skimage.data` may download missing ones. Outlines come from thresholds,
or from a few shapes drawn around the object.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import cv2
import numpy as np
import scipy  # ndimage is loaded when used
from PIL import Image

FINER = 4  # shapes are drawn this many times larger and averaged down, which gives soft edges
CARD_SIDE = 240  # longest side of a card in pixels
CARD_PICTURES = (
    "skimage/data/astronaut.png", "skimage/data/camera.png", "skimage/data/chelsea.png",
    "skimage/data/hubble_deep_field.jpg", "skimage/data/ihc.png", "skimage/data/page.png", "skimage/data/retina.jpg",
    "skimage/data/rocket.jpg", "sklearn/datasets/images/china.jpg",
)  # fmt: skip


@dataclass(frozen=True)
class Cutout:
    """An object without its surroundings, and where its upper left corner lies in a scene."""

    image: np.ndarray  # (h, w, 3) float32 RGB in [0, 1]
    alpha: np.ndarray  # (h, w) float32 in [0, 1]: how much of the pixel is the object
    max_turn: float = 180.0  # largest angle in degrees by which it may be turned and still look right
    top: int = 0
    left: int = 0

    def spread(self, height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Image and alpha on an empty canvas of a scene's size."""
        move = np.array([[1.0, 0.0, self.left], [0.0, 1.0, self.top]])
        image, alpha = (
            cv2.warpAffine(layer, move, (width, height), flags=cv2.INTER_NEAREST) for layer in (self.image, self.alpha)
        )
        return image, alpha


@cache
def open_bundled(name: str, mode: str = "RGB") -> np.ndarray:
    """Read a picture that lies in an installed package: float32 in [0, 1], shared, not writeable."""
    package, _, below = name.partition("/")
    spec = find_spec(package)  # the folder without the slow import of the package
    assert spec is not None and spec.submodule_search_locations is not None
    with Image.open(Path(spec.submodule_search_locations[0], below)) as picture:
        pixels = np.asarray(picture.convert(mode), dtype=np.float32) / 255
    pixels.flags.writeable = False
    return pixels


def cut_object(name: str, rng: np.random.Generator) -> Cutout:
    """Cut out an object, a key of `OBJECTS`; where there are several (coins), one of them is drawn."""
    choices = OBJECTS[name]()
    return choices[rng.integers(len(choices))]


def cut_card(rng: np.random.Generator) -> Cutout:
    """Cut a picture card with a rim out of a drawn part of a drawn picture, printed in colours of its own."""
    picture = open_bundled(CARD_PICTURES[rng.integers(len(CARD_PICTURES))])
    height, width = (min(picture.shape[:2]) * 0.65 * rng.uniform(0.15, 1) * rng.uniform(0.7, 1, size=2)).astype(int)
    top, left = rng.integers(picture.shape[0] - height), rng.integers(picture.shape[1] - width)
    card = picture[top : top + height, left : left + width]
    width, height = (max(16, round(side * min(1, CARD_SIDE / max(card.shape)))) for side in (width, height))
    card = cv2.resize(card, (width, height), interpolation=cv2.INTER_AREA)
    # Channels are mixed anew, so that no two cards look alike.
    mixing = np.eye(3) * rng.uniform(0.5, 1.1) + rng.normal(0, 0.3, size=(3, 3))
    card = np.clip((card.reshape(-1, 3) - 0.5) @ mixing + rng.uniform(0.35, 0.65, size=3), 0, 1)
    card = card.reshape(height, width, 3).astype(np.float32)
    rim = max(2, min(height, width) // 14)
    colour = rng.uniform(0.8, 0.97) * np.array([1, 0.98, 0.94])
    for edge in (np.s_[:rim], np.s_[-rim:], np.s_[:, :rim], np.s_[:, -rim:]):
        card[edge] = colour
    return Cutout(card, np.ones((height, width), dtype=np.float32))


@cache
def _cut_cup() -> list[Cutout]:
    """The coffee cup: saucer and rim are ellipses, the end of the spoon a small polygon."""
    picture = open_bundled("skimage/data/coffee.png")
    alpha = _draw_ellipses(picture, [((278, 218.7), (401, 336), 5.7), ((291, 115), (236, 193), 5)])
    spoon = np.array([(398, 82), (402, 69), (412, 67), (420, 69), (423, 76), (414, 112), (400, 130)])
    cv2.fillPoly(alpha, [spoon], 1.0, cv2.LINE_AA)
    return [_trim(picture, alpha, max_turn=30)]


@cache
def _cut_flower() -> list[Cutout]:
    """The dahlia: orange before green, the largest piece without its holes."""
    picture = open_bundled("sklearn/datasets/images/flower.jpg")[:356]  # below it another one begins
    parts, _ = scipy.ndimage.label(picture[..., 0] - picture[..., 2] > 0.16)
    largest = parts == np.bincount(parts.ravel())[1:].argmax() + 1
    without_stalk = scipy.ndimage.binary_opening(scipy.ndimage.binary_fill_holes(largest), iterations=9)
    return [_trim(picture, _soften(without_stalk))]


@cache
def _cut_coins() -> list[Cutout]:
    """The coins by their own contours, in silver, gold and copper."""
    grey = open_bundled("skimage/data/coins.png", "L")
    smooth = scipy.ndimage.gaussian_filter(grey, 2)
    # The plate under the coins is lit unevenly: each coin is brighter than the darkest shade around it.
    shade = scipy.ndimage.gaussian_filter(scipy.ndimage.minimum_filter(smooth, 61), 20)
    bright = scipy.ndimage.binary_opening(scipy.ndimage.binary_fill_holes(smooth - shade > 0.16), iterations=8)
    parts, n_parts = scipy.ndimage.label(bright)
    coins = [_soften(parts == index) for index in range(1, n_parts + 1) if _is_round(parts == index)]
    metals = np.array([(0.97, 0.98, 1.0), (1.0, 0.83, 0.42), (0.96, 0.6, 0.42)], dtype=np.float32)
    return [_trim(np.clip(grey[..., None] * metal * 1.15, 0, 1), coin) for coin in coins for metal in metals]


@cache
def _cut_horse() -> list[Cutout]:
    """The silhouette of a horse, as paper of several colours."""
    alpha = 1 - open_bundled("skimage/data/horse.png", "L")
    colours = np.array([(0.1, 0.1, 0.12), (0.93, 0.9, 0.84), (0.2, 0.35, 0.55)], dtype=np.float32)
    return [_trim(np.broadcast_to(colour, (*alpha.shape, 3)), alpha, max_turn=40) for colour in colours]


@cache
def _cut_badge() -> list[Cutout]:
    """The logo of scikit-image, a disc."""
    logo = open_bundled("skimage/data/logo.png")
    return [_trim(logo, _draw_ellipses(logo, [((249.5, 249.5), (482, 482), 0)]))]


def _draw_ellipses(picture: np.ndarray, ellipses: list[tuple]) -> np.ndarray:
    """Draw filled ellipses ((x, y), (length, breadth), degrees) of a picture's size, with soft edges."""
    canvas = np.zeros((picture.shape[0] * FINER, picture.shape[1] * FINER), dtype=np.float32)
    for (x, y), (length, breadth), angle in ellipses:
        cv2.ellipse(canvas, ((x * FINER, y * FINER), (length * FINER, breadth * FINER), angle), 1.0, -1)
    return cv2.resize(canvas, picture.shape[1::-1], interpolation=cv2.INTER_AREA)


@cache
def _cut_plate() -> list[Cutout]:
    """The picture of a retina, a disc in the colours of the cup."""
    retina = cv2.resize(open_bundled("skimage/data/retina.jpg"), (400, 400), interpolation=cv2.INTER_AREA)
    return [_trim(retina, _draw_ellipses(retina, [((199.5, 199.5), (384, 384), 0)]))]


def _is_round(mask: np.ndarray) -> bool:
    """Whether the mask fills its box as a disc does (pi / 4), and is large enough to be a coin."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    box = (rows[-1] - rows[0] + 1) * (columns[-1] - columns[0] + 1)
    return bool(box > 600 and 0.72 < mask.sum() / box < 0.85)


def _soften(mask: np.ndarray) -> np.ndarray:
    """Give a mask a soft edge, one pixel inwards so that nothing of the old background comes along."""
    inner = scipy.ndimage.binary_erosion(mask)
    return scipy.ndimage.gaussian_filter(inner.astype(np.float32), 0.7)


def _trim(image: np.ndarray, alpha: np.ndarray, max_turn: float = 180.0) -> Cutout:
    """Keep the smallest box that holds the object."""
    seen = alpha > 0.02
    rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
    box = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    image, alpha = (np.clip(layer[box], 0, 1).astype(np.float32) for layer in (image, alpha))
    return Cutout(image, alpha, max_turn)


OBJECTS: dict[str, Callable[[], list[Cutout]]] = {
    "badge": _cut_badge,
    "coin": _cut_coins,
    "cup": _cut_cup,
    "flower": _cut_flower,
    "horse": _cut_horse,
    "plate": _cut_plate,
}
