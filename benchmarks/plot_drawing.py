"""Pictures for docs/small-objects.md: the same vote drawn as regions and as lines, on synthetic cracks.

    python benchmarks/plot_drawing.py [--out docs/images/drawing.jpg] [--work build/drawing]

Each row is part of a cracked surface: the image, the truth, regions, and ``--draw lines``.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from segvote.datasets import write_surfaces
from segvote.io.images import read_image
from segvote.io.masks import read_mask
from segvote.run.run import Run
from segvote.run.settings import Settings
from segvote.steps.annotate import annotate

N_IMAGES, AREA = 12, 0.005
N_ROWS = 3
SIDE, GAP = 360, 6  # pixels of a tile and between tiles
COLOUR = np.array([255, 120, 0])


def make_run(folder: Path, way: str) -> Run:
    if not (folder / "masks").is_dir():
        write_surfaces(folder, N_IMAGES, N_IMAGES, kind="crack", size=640, area=(AREA, AREA))
    return annotate(folder / "with", folder / "without", folder / "run", replace(Settings(), draw=way))


def paint(image: np.ndarray, mask: np.ndarray) -> np.ndarray:
    painted = image.copy()
    painted[mask] = (0.3 * image[mask] + 0.7 * COLOUR).astype(np.uint8)
    return painted


def find_window(truth: np.ndarray, side: int) -> tuple[slice, slice]:
    """A square window around the middle of the object."""
    centre = np.argwhere(truth).mean(axis=0)
    starts = [int(np.clip(c - side / 2, 0, n - side)) for c, n in zip(centre, truth.shape, strict=True)]
    return slice(starts[0], starts[0] + side), slice(starts[1], starts[1] + side)


def draw_row(image: np.ndarray, truth: np.ndarray, masks: list[np.ndarray]) -> np.ndarray:
    window = find_window(truth, SIDE)
    tiles = [image, *(paint(image, mask) for mask in (truth, *masks))]
    return np.hstack([np.pad(tile[window], ((0, GAP), (0, GAP), (0, 0)), constant_values=255) for tile in tiles])


def draw_rows(folder: Path) -> np.ndarray:
    masks = []
    for way in ("regions", "lines"):
        run = make_run(folder, way)
        print(f"{way:8} {run.drawing.way}: {run.drawing.reason}", flush=True)
        masks.append([run.read_mask(index) for index in range(N_ROWS)])
    images = [read_image(run.find_image(index)) for index in range(N_ROWS)]
    truths = [read_mask(folder / "masks" / f"{run.bags[index].stem[5:]}.png") > 0 for index in range(N_ROWS)]
    return np.vstack([draw_row(*row[:2], list(row[2:])) for row in zip(images, truths, *masks, strict=True)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/images/drawing.jpg"))
    parser.add_argument("--work", type=Path, default=Path("build/drawing"))
    given = parser.parse_args()
    Image.fromarray(draw_rows(given.work)[:-GAP, :-GAP]).save(given.out, quality=85)


if __name__ == "__main__":
    main()
