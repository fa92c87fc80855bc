"""Draw the figures of README and docs/ that show results; the pictures come with scikit-image or are made.

    python benchmarks/plots.py [readme] [drawing] [--out docs/images]

- ``readme``: above, a stained tissue section (`skimage.data.immunohistochemistry`), cut into windows with and without
  brown stain; below, a brick wall (`skimage.data.brick`) with cracks that are drawn here.
- ``drawing``: part of synthetic cracked surfaces: image, truth, the vote drawn as regions, ``--draw lines``.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from skimage import data
from skimage.color import rgb2hed
from skimage.draw import disk
from skimage.filters import gaussian
from skimage.transform import resize

import segvote
from segvote import annotate
from segvote.datasets import make_surfaces, write_scenes
from segvote.io.images import read_image
from segvote.io.masks import read_mask
from segvote.io.overlays import write_jpeg
from segvote.run.run import Run
from segvote.settings import Settings

WINDOW, STEP, SIDE = 96, 52, 192  # of the section: pixels of a window, from one to the next, and as it is annotated
TILE, SHOWN, GAP = 128, 256, 6  # of the wall: pixels of a tile, and as it is annotated and shown; between pictures
RED = np.array([214, 69, 43])
N_IMAGES, AREA = 12, 0.005  # of the cracks
N_ROWS = 3
SIDE_SHOWN = 360  # pixels of a tile
ORANGE = np.array([255, 120, 0])


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
    for one, image in zip(shown, found, strict=True):
        total[one] += resize(image.mask.astype(float), (WINDOW, WINDOW), order=1)
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
    return [(np.repeat(tile[..., None], 3, axis=2), one.mask) for tile, one in zip(cracked, found, strict=True)]


def fade(picture: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """What is not in the mask, nearly white."""
    return np.where(mask[..., None], picture, (picture * 0.25 + 191)).astype(np.uint8)


def paint(picture: np.ndarray, mask: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """What is in the mask, in a colour."""
    return np.where(mask[..., None], picture * 0.3 + colour * 0.7, picture).astype(np.uint8)


def join(pictures: list[np.ndarray], axis: int) -> np.ndarray:
    """Side by side (1) or above each other (0), with a white gap."""
    gap = np.full((*pictures[0].shape[:axis], GAP, *pictures[0].shape[axis + 1 :]), 255, np.uint8)
    return np.concatenate([part for picture in pictures for part in (picture, gap)][:-1], axis=axis)


def plot_readme(out: Path) -> None:
    """Results on pictures that come with scikit-image; half a minute."""
    section, mask = find_section()
    tall = 2 * SHOWN + GAP
    above = join([enlarge(one, tall) for one in (section, fade(section, mask))], axis=1)
    below = join([join([tile, paint(tile, mask, RED)], axis=0) for tile, mask in find_cracks()[:4]], axis=1)
    write_jpeg(out / "readme.jpg", join([above, below[:, : above.shape[1]]], axis=0), quality=85)


def make_run(folder: Path, way: str) -> Run:
    if not (folder / "masks").is_dir():
        write_scenes(folder, make_surfaces(N_IMAGES, N_IMAGES, kind="crack", size=640, area=(AREA, AREA)))
    return annotate(folder / "with", folder / "without", folder / "run", replace(Settings(), draw=way))


def find_window(truth: np.ndarray, side: int) -> tuple[slice, slice]:
    """A square window around the middle of the object."""
    centre = np.argwhere(truth).mean(axis=0)
    starts = [int(np.clip(c - side / 2, 0, n - side)) for c, n in zip(centre, truth.shape, strict=True)]
    return slice(starts[0], starts[0] + side), slice(starts[1], starts[1] + side)


def plot_drawing(out: Path) -> None:
    """The same vote drawn as regions and as lines, on synthetic cracks: image, truth, regions, lines, row by row."""
    masks, rows = [], []
    with tempfile.TemporaryDirectory() as folder:
        for way in ("regions", "lines"):
            run = make_run(Path(folder), way)
            masks.append([run.read_mask(index) for index in range(N_ROWS)])
        for index in range(N_ROWS):
            image = read_image(run.find_image(index))
            truth = read_mask(Path(folder) / "masks" / f"{run.bags[index].stem[5:]}.png") > 0
            window = find_window(truth, SIDE_SHOWN)
            painted = [paint(image, mask, ORANGE) for mask in (truth, *(one[index] for one in masks))]
            rows.append(join([tile[window] for tile in (image, *painted)], axis=1))
    write_jpeg(out / "drawing.jpg", join(rows, axis=0), quality=85)


PLOTS = {"readme": plot_readme, "drawing": plot_drawing}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(PLOTS)}; default: all")
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    given = parser.parse_args()
    for name in given.names or PLOTS:
        PLOTS[name](given.out)


if __name__ == "__main__":
    main()
