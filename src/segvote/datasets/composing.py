"""Painting a synthetic scene: grounds of real texture, cutouts turned, scaled and recoloured, shadows, light and grain.

Everything is float32 RGB in [0, 1] until `develop` gives the bytes. Each function draws from the generator it is given
and from nothing else.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import cv2
import numpy as np

from segvote.datasets.cutouts import Cutout, open_bundled

# Ground: picture, and pairs of colours for its dark and its light parts.
GROUNDS: dict[str, tuple[str, tuple]] = {
    "brick": ("data/brick.png", (((0.25, 0.11, 0.08), (0.86, 0.60, 0.48)), ((0.22, 0.22, 0.24), (0.80, 0.78, 0.74)))),
    "grass": ("data/grass.png", (((0.07, 0.13, 0.03), (0.68, 0.80, 0.36)), ((0.17, 0.14, 0.05), (0.86, 0.80, 0.50)))),
    "gravel": ("data/gravel.png", (((0.12, 0.11, 0.11), (0.88, 0.85, 0.81)), ((0.20, 0.13, 0.08), (0.93, 0.80, 0.64)))),
    "sand": ("data/moon.png", (((0.52, 0.40, 0.25), (0.98, 0.89, 0.70)), ((0.42, 0.42, 0.42), (0.93, 0.92, 0.90)))),
}
# Pixels of a ground's picture, which has 512, that fill the width of a still life.
N_SHOWN = 400


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
    grey = open_bundled("skimage", file_name, "L")
    scale = rng.uniform(0.7, 1.3) * width / n_shown
    turned = _warp(grey, rng.uniform(0, 360), scale, rng.uniform(150, 362, size=2), height, width)
    low, high = _measure_range(file_name)
    level = np.clip((turned - low) / (high - low), 0, 1)[..., None]
    dark, light = _draw_tint(tints, rng)
    return np.clip(dark + level * (light - dark), 0, 1).astype(np.float32)


@cache
def _measure_range(file_name: str) -> tuple[float, float]:
    low, high = np.quantile(open_bundled("skimage", file_name, "L"), [0.01, 0.99])
    return float(low), float(high)


def _draw_tint(tints: tuple, rng: np.random.Generator) -> np.ndarray:
    """Draw a pair of colours, (2, 3), a little different each time in brightness and in hue."""
    pair = np.array(tints[rng.integers(len(tints))])
    return pair * rng.uniform(0.88, 1.08, size=(2, 1)) * rng.uniform(0.94, 1.06, size=3)


def _warp(picture: np.ndarray, angle: float, scale: float, centre: np.ndarray, height: int, width: int) -> np.ndarray:
    """Cut a turned and scaled window around a centre; beyond its edge a texture goes on mirrored."""
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


def recolour(cutout: Cutout, turn: float, strength: float = 1.0) -> Cutout:
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


def develop(scene: np.ndarray, rng: np.random.Generator) -> np.ndarray:
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
