"""The peer for defects: its memory spreads, defects stand out, and its figures are exact."""

import sys
from pathlib import Path

import numpy as np
import pytest

from segvote.datasets import make_surfaces, write_scenes
from segvote.io.images import list_images

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
bench = pytest.importorskip("bench_defects")


def test_a_coreset_reaches_every_cluster_first():
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 10, (6, 20))
    cells = np.repeat(centres, [500, 5, 5, 5, 5, 5], axis=0) + rng.normal(0, 0.1, (525, 20))
    kept = bench.choose_coreset(cells.astype(np.float32), 6, rng)
    nearest = np.argmin(np.linalg.norm(kept[:, None] - centres, axis=2), axis=1)
    assert sorted(nearest) == list(range(6))


def test_a_stain_stands_out_from_the_memory_of_whole_surfaces(tmp_path):
    write_scenes(tmp_path, make_surfaces(0, 4, kind="stain", size=256))
    memory = bench.PatchMemory(list_images(tmp_path / "without"), 500)
    scene = next(make_surfaces(1, 0, kind="stain", size=256, area=(0.01, 0.01)))
    drawn = memory.draw_map(scene.image, scene.mask.shape)
    assert drawn.shape == scene.mask.shape
    # The stain against the rest of its image: one half would be chance.
    assert bench.measure_pixels([drawn], [scene.mask * np.uint8(255)])["pixel_auroc"] > 0.9


def test_a_map_that_is_the_truth_has_figures_of_one():
    truth = np.zeros((40, 50), dtype=np.uint8)
    truth[10:20, 10:20] = 255
    drawn = (truth == 255).astype(np.float32)
    truth[:5], drawn[:5] = 128, 1
    assert bench.measure_pixels([drawn], [truth]) == {"pixel_auroc": 1.0, "best_miou": 1.0, "best_corloc": 1.0}
