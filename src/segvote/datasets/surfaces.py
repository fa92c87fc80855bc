"""Synthetic surfaces with small defects: brick, grass, gravel and sand at 1024 pixels, 0.1 to 0.5 % of each *with*
image damaged in one way, exact masks; seeded, no download.

The shape of a defect is a field over the image, lowest where the damage is deepest: the mask is as many of its lowest
pixels as the area asks for. Pixels outside the mask are those of the undamaged surface.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import cv2
import numpy as np

from segvote.datasets.scenes import GROUNDS, Scene, paint_ground
from segvote.errors import BadInputError
from segvote.registry import check_known
from segvote.types import WITH, WITHOUT

MARGIN = 0.06  # distance of a defect from the border, as a part of the side
MAX_LENGTH = 0.7  # of a line, as a part of the side: a larger area makes lines wider
N_STEPS = 24  # of a crack
AREA = (0.001, 0.005)  # part of an image that is damaged

Draw = Callable[[int, int, np.random.Generator], np.ndarray]  # side and pixels of a defect to a field (side, side)
Damage = Callable[[np.ndarray, np.random.Generator], np.ndarray]  # a surface (side, side, 3) in [0, 1], all damaged


def make_surfaces(
    n_with: int = 20,
    n_without: int = 20,
    seed: int = 0,
    *,
    kind: str = "stain",
    ground: str = "gravel",
    size: int = 1024,
    area: tuple[float, float] = AREA,
) -> Iterator[Scene]:
    """Make surfaces one after another, those with a defect first.

    Parameters
    ----------
    n_with, n_without : int
        Number of images of each bag label.
    seed : int
        Equal seeds give equal surfaces; one does not depend on how many others there are.
    kind : str
        Defect of the *with* images: crack, scratch, spots, stain or worn.
    ground : str
        The surface of all images: ``brick``, ``grass``, ``gravel`` or ``sand``.
    size : int
        Width and height in pixels.
    area : tuple of float
        Smallest and largest part of the image that is damaged.

    Yields
    ------
    Scene

    Examples
    --------
    >>> from segvote.datasets import make_surfaces
    >>> scratched = next(make_surfaces(1, 0, kind="scratch", size=256, area=(0.002, 0.002)))
    >>> scratched.image.shape, int(scratched.mask.sum())
    ((256, 256, 3), 131)
    """
    check_known(kind, DEFECTS, "defect")
    check_known(ground, GROUNDS, "ground")
    if size < 64:
        raise BadInputError(f"expected surfaces of at least 64 pixels, got {size}; choose a larger size")
    if not 10 / size**2 <= area[0] <= area[1] <= 0.05:
        raise BadInputError(f"expected two rising parts of the image, at least ten pixels and at most 0.05, got {area}")
    for bag_label, count in ((WITH, n_with), (WITHOUT, n_without)):
        for index in range(count):
            image, mask = make_surface(bag_label, index, seed, kind if bag_label == WITH else None, ground, size, area)
            yield Scene(f"{bag_label}-{index:03d}", bag_label, image, mask)


def make_surface(
    bag_label: str, index: int, seed: int, kind: str | None, ground: str, size: int, area: tuple[float, float] = AREA
) -> tuple[np.ndarray, np.ndarray]:
    """Image and mask of one surface; undamaged where `kind` is None."""
    entropy = [seed, index, int(bag_label == WITH)]
    # The pictures have 512 pixels; they are shown at about their own size and go on mirrored.
    rng = np.random.default_rng(entropy)
    surface = _light(paint_ground([ground], size, size, rng, n_shown=size), np.random.default_rng([*entropy, 1]))
    mask = np.zeros(size * size, dtype=bool)
    if kind is not None:
        rng = np.random.default_rng([*entropy, 2])
        draw, damage = DEFECTS[kind]
        n_pixels = round(rng.uniform(*area) * size**2)
        mask[np.argsort(draw(size, n_pixels, rng), axis=None, kind="stable")[:n_pixels]] = True
        surface = np.where(mask.reshape(size, size, 1), damage(surface, rng), surface)
    image = (np.clip(surface, 0, 1) * 255).round().astype(np.uint8)
    return image, mask.reshape(size, size)


def _light(surface: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Light from one side and the grain of a camera, as steady as where parts are inspected."""
    y, x = np.mgrid[-1 : 1 : len(surface) * 1j, -1 : 1 : len(surface) * 1j]
    angle = rng.uniform(0, 2 * np.pi)
    fall = rng.uniform(0.85, 1.0) * (1 + 0.12 * (x * np.cos(angle) + y * np.sin(angle)))
    return np.clip(surface * fall[..., None] + rng.normal(0, 0.012, (*surface.shape[:2], 1)), 0, 1)


# Shapes --------------------------------------------------------------------------------------------------------------


def _draw_scratch(side: int, n_pixels: int, rng: np.random.Generator) -> np.ndarray:
    """A long, nearly straight line of even width."""
    length = _choose_length(side, n_pixels, rng.uniform(0.003, 0.006))
    t = np.linspace(-0.5, 0.5, 64)[:, None]
    angle, bend = rng.uniform(0, np.pi), rng.uniform(-0.25, 0.25)
    along, across = _make_axes(angle)
    return _measure_distance(side, [_place(length * (t * along + bend * t**2 * across), side, rng)], 0.2, rng)


def _draw_crack(side: int, n_pixels: int, rng: np.random.Generator) -> np.ndarray:
    """A jagged line with two branches."""
    length = _choose_length(side, n_pixels, rng.uniform(0.002, 0.004))
    trunk = _walk(0.7 * length, rng.uniform(0, 2 * np.pi), rng)
    forks = rng.integers(len(trunk) // 4, 3 * len(trunk) // 4, size=2)
    branches = [trunk[fork] + _walk(0.15 * length, rng.uniform(0, 2 * np.pi), rng) for fork in forks]
    joined = _place(np.concatenate([trunk, *branches]), side, rng)
    parts = np.split(joined, np.cumsum([len(part) for part in (trunk, *branches)])[:-1])
    return _measure_distance(side, parts, 0.4, rng)


def _draw_worn(side: int, n_pixels: int, rng: np.random.Generator) -> np.ndarray:
    """A ragged patch, longer than wide."""
    return _measure_blob(side, n_pixels, rng, roughness=0.2, stretch=float(rng.uniform(1.5, 2.5)))


def _draw_spots(side: int, n_pixels: int, rng: np.random.Generator) -> np.ndarray:
    """Three to six small discs, apart from each other."""
    n_discs = int(rng.integers(3, 7))
    centres: list[np.ndarray] = []
    while len(centres) < n_discs:
        centre = rng.uniform(MARGIN * side, (1 - MARGIN) * side, 2)
        if all(np.hypot(*(centre - other)) >= 0.12 * side for other in centres):
            centres.append(centre)
    y, x = np.mgrid[:side, :side]
    radii = rng.uniform(0.8, 1.2, n_discs)
    return np.min([np.hypot(x - cx, y - cy) / r for (cx, cy), r in zip(centres, radii, strict=True)], axis=0)


def _choose_length(side: int, n_pixels: int, width: float) -> float:
    """Pixels of a line of a width (part of the side) and an area."""
    return min(n_pixels / max(width * side, 1.0), MAX_LENGTH * side)


def _make_axes(angle: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])


def _walk(length: float, angle: float, rng: np.random.Generator) -> np.ndarray:
    """Points of a jagged path from the origin."""
    angles = angle + rng.normal(0, 0.6, N_STEPS)
    steps = np.column_stack([np.cos(angles), np.sin(angles)]) * length / N_STEPS
    return np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])


def _place(points: np.ndarray, side: int, rng: np.random.Generator) -> np.ndarray:
    """Points (n, 2) moved to anywhere inside the margin."""
    low, high = points.min(axis=0), points.max(axis=0)
    margin = MARGIN * side
    return points - low + margin + rng.uniform(0, 1, 2) * np.maximum(side - 2 * margin - (high - low), 0)


def _measure_distance(side: int, lines: list[np.ndarray], roughness: float, rng: np.random.Generator) -> np.ndarray:
    """Distance in pixels from lines, their edges uneven; 0 on the lines, which therefore never break."""
    canvas = np.full((side, side), 255, dtype=np.uint8)
    for line in lines:
        cv2.polylines(canvas, [line.round().astype(np.int32)], False, 0)
    return cv2.distanceTransform(canvas, cv2.DIST_L2, 5) * np.exp(roughness * _draw_noise(side, 2.0, rng))


def _measure_blob(
    side: int, n_pixels: int, rng: np.random.Generator, roughness: float = 0.1, stretch: float = 1.0
) -> np.ndarray:
    """Distance from a centre in radii of the blob, its outline made uneven by noise."""
    radius = np.sqrt(n_pixels / np.pi)
    room = MARGIN * side + radius * np.sqrt(stretch)
    x0, y0 = rng.uniform(room, side - room, 2)
    y, x = np.mgrid[:side, :side].astype(np.float64)
    along, across = _make_axes(rng.uniform(0, np.pi))
    u, v = (x - x0) * along[0] + (y - y0) * along[1], (x - x0) * across[0] + (y - y0) * across[1]
    distance = np.hypot(u / np.sqrt(stretch), v * np.sqrt(stretch)) / radius
    return distance * np.exp(roughness * _draw_noise(side, radius / 2.5, rng))


def _draw_noise(side: int, scale: float, rng: np.random.Generator) -> np.ndarray:
    """(side, side) smooth noise of unit deviation; `scale` in pixels."""
    noise = cv2.GaussianBlur(rng.normal(size=(side, side)), (0, 0), scale)
    return noise / noise.std()


# Damage --------------------------------------------------------------------------------------------------------------


def _wear(surface: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The relief rubbed off: the mean of the surroundings, a little paler."""
    smooth = cv2.GaussianBlur(surface, (0, 0), len(surface) / 64)
    return 0.85 * (0.15 * surface + 0.85 * smooth) + 0.15 * rng.uniform(0.7, 0.8)


DEFECTS: dict[str, tuple[Draw, Damage]] = {
    "crack": (_draw_crack, lambda surface, rng: 0.25 * surface + 0.75 * rng.uniform(0.02, 0.08)),
    "scratch": (_draw_scratch, lambda surface, rng: 0.35 * surface + 0.65 * rng.uniform(0.85, 0.95)),
    "spots": (_draw_spots, lambda surface, rng: 0.15 * surface + 0.85 * rng.uniform(0.95, 1.0)),
    "stain": (_measure_blob, lambda surface, rng: surface * np.array([0.62, 0.45, 0.28]) * rng.uniform(0.9, 1.1)),
    "worn": (_draw_worn, _wear),
}
