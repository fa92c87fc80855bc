"""Draw docs/images/readme.jpg: image, heat map and mask of three made scenes, from a run on them.

    python benchmarks/plot_readme.py SCENES_RUN [FILE]

SCENES_RUN is the run folder of `segvote demo` (``demo-out/run``).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from segvote.io.images import read_image, resize_image
from segvote.io.overlays import blend_mask, write_jpeg
from segvote.run.run import Run

N_SCENES = 3
GAP = 6


def make_row(run: Run, index: int) -> np.ndarray:
    """Image, heat map and mask side by side."""
    image = run.read_image(index)
    heat = resize_image(read_image(run.folder.heatmap_path(run.bags[index].stem)), max(image.shape[:2]))
    pictures = [image, heat, blend_mask(image, run.read_mask(index))]
    gap = np.full((image.shape[0], GAP, 3), 255, np.uint8)
    return np.concatenate([pictures[0], gap, pictures[1], gap, pictures[2]], axis=1)


def main() -> None:
    run = Run(sys.argv[1])
    rows = [make_row(run, index) for index in range(N_SCENES)]
    gap = np.full((GAP, rows[0].shape[1], 3), 255, np.uint8)
    sheet = np.concatenate([part for row in rows for part in (row, gap)][:-1])
    write_jpeg(Path(sys.argv[2] if len(sys.argv) > 2 else "docs/images/readme.jpg"), sheet, quality=88)


if __name__ == "__main__":
    main()
