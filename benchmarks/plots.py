"""Draw the figures of README and docs/ that show results; the photographs come with scikit-image, others are synthetic.

    python benchmarks/plots.py [readme] [drawing] [--out docs/images]

- ``readme``: windows of three photographs of `skimage.data`, with and without an object, and the masks by default
  settings: brown stain in a tissue section, galaxies and stars in the Hubble deep field, large vessels of a retina.
- ``drawing``: part of synthetic cracked surfaces: image, truth, the vote drawn as regions, ``--draw lines``.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from skimage import data
from skimage.color import rgb2gray, rgb2hed
from skimage.filters import frangi, gaussian
from skimage.measure import label, regionprops

import segvote
from segvote import annotate
from segvote.datasets import make_surfaces, write_scenes
from segvote.io.images import read_image
from segvote.io.masks import read_mask
from segvote.io.overlays import write_jpeg
from segvote.run.run import Run
from segvote.settings import Settings

Window = tuple[slice, slice]
Sorted = tuple[np.ndarray, list[Window], list[Window]]  # a photograph, its windows with and without the object

STEP, SIDE = 8, 320  # pixels from one window to the next; of a window as it is annotated
N_COLUMNS, TILE, GAP, HEADING = 8, 140, 6, 30  # of the picture of README; pixels of a window, between two, of the text
INK = "#1f2430"
N_IMAGES, AREA = 12, 0.005  # of the cracks
N_ROWS = 3
SIDE_SHOWN = 360  # pixels of a tile
ORANGE = np.array([255, 120, 0])


def list_windows(shape: tuple[int, ...], side: int) -> list[Window]:
    """Square windows of a picture in random order."""
    starts = [range(0, length - side + 1, STEP) for length in shape[:2]]
    corners = np.random.default_rng(0).permutation(list(itertools.product(*starts)))
    return [(slice(top, top + side), slice(left, left + side)) for top, left in corners.tolist()]


def keep_apart(windows: list[Window], share: float) -> list[Window]:
    """Windows that overlap none before them by more than a share of their area."""
    kept: list[Window] = []
    for rows, columns in windows:
        length = rows.stop - rows.start
        overlaps = [
            max(length - abs(rows.start - other[0].start), 0) * max(length - abs(columns.start - other[1].start), 0)
            for other in kept
        ]
        if all(overlap <= share * length**2 for overlap in overlaps):
            kept.append((rows, columns))
    return kept


# The windows are sorted by a measurement, as a person would by looking. It is not used for the masks.


def sort_tissue() -> Sorted:
    """Brown stain or none."""
    section = data.immunohistochemistry()
    brown = rgb2hed(section)[..., 2] > 0.06
    windows = list_windows(section.shape, 112)
    shown = [one for one in windows if 0.15 < brown[one].mean() < 0.7]
    empty = [one for one in windows if brown[one].mean() < 0.02]
    return section, keep_apart(shown, 0.25), keep_apart(empty, 0.65)


def sort_sky() -> Sorted:
    """One of the brightest galaxies and stars, somewhere near the middle, or faint ones only."""
    sky, side = data.hubble_deep_field(), 72
    light, rng = gaussian(rgb2gray(sky), 1.5), np.random.default_rng(0)
    bright = sorted(regionprops(label(light > 0.35)), key=lambda one: -one.area)[:40]
    middles = np.array([one.centroid for one in bright]) + rng.integers(-14, 15, (len(bright), 2))
    corners = np.clip(middles - side / 2, 0, np.array(light.shape) - side).astype(int)
    shown = [(slice(top, top + side), slice(left, left + side)) for top, left in corners.tolist()]
    empty = [one for one in list_windows(sky.shape, side) if light[one].max() < 0.3]
    return sky, keep_apart(shown, 0.1)[:20], keep_apart(empty, 0.2)[:20]


def sort_retina() -> Sorted:
    """Large blood vessels or small ones only."""
    fundus = data.retina()
    inside = gaussian((fundus.sum(axis=2) > 60).astype(float), 20) > 0.97
    ridges = np.nan_to_num(frangi(gaussian(fundus[..., 1] / 255, 1), sigmas=range(4, 12, 2)))
    large = ridges > np.quantile(ridges[inside], 0.93)
    windows = [one for one in list_windows(fundus.shape, 160) if inside[one].all()]
    shown = [one for one in windows if large[one].mean() > 0.12]
    empty = [one for one in windows if large[one].mean() < 0.02]
    return fundus, keep_apart(shown, 0.15), keep_apart(empty, 0.3)


def enlarge(picture: np.ndarray, side: int) -> np.ndarray:
    return np.asarray(Image.fromarray(picture).resize((side, side), Image.Resampling.BICUBIC))


def fade(picture: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """What is not in the mask, nearly white."""
    return np.where(mask[..., None], picture, (picture * 0.2 + 204)).astype(np.uint8)


def paint(picture: np.ndarray, mask: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """What is in the mask, in a colour."""
    return np.where(mask[..., None], picture * 0.3 + colour * 0.7, picture).astype(np.uint8)


def join(pictures: list[np.ndarray], axis: int) -> np.ndarray:
    """Side by side (1) or above each other (0), with a white gap."""
    gap = np.full((*pictures[0].shape[:axis], GAP, *pictures[0].shape[axis + 1 :]), 255, np.uint8)
    return np.concatenate([part for picture in pictures for part in (picture, gap)][:-1], axis=axis)


def annotate_windows(sort: Callable[[], Sorted]) -> np.ndarray:
    """Eight *with* windows, evenly spread over all, above their masks; on the right four *without* windows."""
    picture, shown, empty = sort()
    images, others = ([enlarge(picture[one], SIDE) for one in windows] for windows in (shown, empty))
    found = segvote.annotate_images(images, others)
    some = np.linspace(0, len(images) - 1, N_COLUMNS).round().astype(int)
    pairs = [(images[index], fade(images[index], found[index].mask)) for index in some]
    columns = [join([enlarge(one, TILE) for one in pair], axis=0) for pair in pairs]
    blank = np.full((len(columns[0]), GAP, 3), 255, np.uint8)
    right = [join([enlarge(one, TILE) for one in others[start : start + 2]], axis=0) for start in (0, 2)]
    return join([*columns, blank, *right], axis=1)


def write_heading(width: int) -> np.ndarray:
    heading = Image.new("RGB", (width, HEADING), "white")
    draw, font = ImageDraw.Draw(heading), ImageFont.load_default(size=20)
    draw.text((0, 0), "images with the object, and below their masks", fill=INK, font=font)
    draw.text((N_COLUMNS * (TILE + GAP) + 2 * GAP, 0), "images without it", fill=INK, font=font)
    return np.asarray(heading)


def plot_readme(out: Path) -> None:
    """Results with default settings on pictures that come with scikit-image; a minute."""
    rows = [annotate_windows(sort) for sort in (sort_tissue, sort_sky, sort_retina)]
    write_jpeg(out / "readme.jpg", np.concatenate([write_heading(rows[0].shape[1]), join(rows, axis=0)]), quality=85)


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
