"""Draw docs/images/readme.jpg: results on pictures that come with scikit-image; half a minute.

    python benchmarks/plot_readme.py [FILE]

Above, a stained tissue section (`skimage.data.immunohistochemistry`), cut into windows with and without brown stain.
Below, a brick wall (`skimage.data.brick`) with cracks that are drawn here. Nobody draws a mask.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from skimage import data
from skimage.color import rgb2hed
from skimage.draw import disk
from skimage.filters import gaussian
from skimage.transform import resize

import segvote
from segvote.io.overlays import write_jpeg

WINDOW, STEP, SIDE = 96, 52, 192  # of the section: pixels of a window, from one to the next, and as it is annotated
TILE, SHOWN, GAP = 128, 256, 6  # of the wall: pixels of a tile, and as it is annotated and shown; between pictures
RED = np.array([214, 69, 43])


def enlarge(picture: np.ndarray, side: int) -> np.ndarray:
    return (resize(picture, (side, side), order=1) * 255).astype(np.uint8)


def find_section() -> tuple[np.ndarray, np.ndarray]:
    """The section, and the mask of its stained tissue: windows overlap, and each pixel takes their mean."""
    section = data.immunohistochemistry()
    corners = range(0, len(section) - WINDOW + 1, STEP)
    windows = [np.s_[top : top + WINDOW, left : left + WINDOW] for top in corners for left in corners]
    brown = rgb2hed(section)[..., 2] > 0.06  # sorts the windows into folders, as a person would by looking
    shown = [one for one in windows if brown[one].mean() > 0.1]
    empty = [one for one in windows if brown[one].mean() < 0.02]
    found = segvote.annotate_images(
        [enlarge(section[one], SIDE) for one in shown],
        [enlarge(section[one], SIDE) for one in empty],
        segvote.Settings(size=SIDE, n_segments=80, border_prior=1.0),  # tissue fills whole windows
    )
    total, count = np.zeros((2, *section.shape[:2]))
    for one, mask in zip(shown, found.masks, strict=True):
        total[one] += resize(mask.astype(float), (WINDOW, WINDOW), order=1)
        count[one] += 1
    return section, total > count / 2


def draw_crack(rng: np.random.Generator) -> np.ndarray:
    """(TILE, TILE) in [0, 1]: a crack that wanders."""
    angle = rng.uniform(0, np.pi) + np.cumsum(rng.normal(0, 0.08, 60))
    path = rng.uniform(30, 100, 2) + np.cumsum(np.column_stack([np.sin(angle), np.cos(angle)]), axis=0)
    crack = np.zeros((TILE, TILE))
    for point in path:
        crack[disk(point, rng.uniform(1.5, 3), shape=crack.shape)] = 1
    return gaussian(crack, 0.8)


def find_cracks() -> list[tuple[np.ndarray, np.ndarray]]:
    """Tiles of the wall with a crack, and their masks."""
    rng, wall = np.random.default_rng(0), data.brick()

    def cut_tile() -> np.ndarray:
        top, left = rng.integers(0, len(wall) - TILE, 2)
        return wall[top : top + TILE, left : left + TILE].astype(float)

    def break_tile() -> np.ndarray:
        crack = draw_crack(rng)
        return cut_tile() * (1 - crack) + crack * rng.uniform(25, 45)

    cracked, whole = ([enlarge(make().astype(np.uint8), SHOWN) for _ in range(16)] for make in (break_tile, cut_tile))
    found = segvote.annotate_images(cracked, whole, segvote.Settings(size=SHOWN, n_segments=150))
    return [(np.repeat(tile[..., None], 3, axis=2), mask) for tile, mask in zip(cracked, found.masks, strict=True)]


def fade(picture: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """What is not in the mask, nearly white."""
    return np.where(mask[..., None], picture, (picture * 0.25 + 191)).astype(np.uint8)


def paint(picture: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """What is in the mask, red."""
    return np.where(mask[..., None], picture * 0.3 + RED * 0.7, picture).astype(np.uint8)


def join(pictures: list[np.ndarray], axis: int) -> np.ndarray:
    """Side by side (1) or above each other (0), with a white gap."""
    gap = np.full((*pictures[0].shape[:axis], GAP, *pictures[0].shape[axis + 1 :]), 255, np.uint8)
    return np.concatenate([part for picture in pictures for part in (picture, gap)][:-1], axis=axis)


def main() -> None:
    section, mask = find_section()
    tall = 2 * SHOWN + GAP
    above = join([enlarge(one, tall) for one in (section, fade(section, mask))], axis=1)
    tiles = find_cracks()[:4]
    below = join([join([tile, paint(tile, mask)], axis=0) for tile, mask in tiles], axis=1)
    sheet = join([above, below[:, : above.shape[1]]], axis=0)
    write_jpeg(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/readme.jpg"), sheet, quality=85)


if __name__ == "__main__":
    main()
