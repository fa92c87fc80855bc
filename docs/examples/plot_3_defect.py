"""
A defect: cracks in a wall
==========================

Sixteen tiles of a brick wall are whole, sixteen have a crack. The bricks and the joints occur in both, the crack does
not. The wall is a photograph of scikit-image; the cracks are drawn, so that their masks are known.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data
from skimage.draw import disk
from skimage.filters import gaussian

import segvote

rng, wall, side = np.random.default_rng(0), np.kron(data.brick(), np.ones((2, 2))), 256


def cut_tile():
    top, left = rng.integers(0, len(wall) - side, 2)
    return wall[top : top + side, left : left + side]


def draw_crack():
    """A crack that wanders."""
    angle = rng.uniform(0, np.pi) + np.cumsum(rng.normal(0, 0.08, 60))
    path = rng.uniform(60, 200, 2) + 2 * np.cumsum(np.column_stack([np.sin(angle), np.cos(angle)]), axis=0)
    crack = np.zeros((side, side))
    for point in path:
        crack[disk(point, rng.uniform(3, 6), shape=crack.shape)] = 1
    return crack


cracks = [draw_crack() for _ in range(16)]
cracked = [cut_tile() * (1 - soft) + 35 * soft for soft in (gaussian(crack, 1.5) for crack in cracks)]
whole = [cut_tile() for _ in range(16)]

# %%
# ``annotate_images`` works on arrays in memory and writes no files.

settings = segvote.Settings(size=side, n_segments=150)
found = segvote.annotate_images(*([one.astype(np.uint8) for one in tiles] for tiles in (cracked, whole)), settings)

figure, grid = plt.subplots(2, 5, figsize=(9, 3.8), layout="constrained")
for column, tile, one in zip(grid.T, cracked, found, strict=False):
    column[0].imshow(tile, cmap="gray", vmin=0, vmax=255)
    column[1].imshow(tile, cmap="gray", vmin=0, vmax=255)
    column[1].contour(one.mask, [0.5], colors="#d6452b")
for axes in grid.flat:
    axes.axis("off")

# %%
# Overlap with the cracks that were drawn:

overlap = [
    (one.mask & (crack > 0)).sum() / (one.mask | (crack > 0)).sum() for one, crack in zip(found, cracks, strict=True)
]
print(f"mean IoU {np.mean(overlap):.2f}, least {np.min(overlap):.2f}")

# %%
# Real defects are smaller and vary more: :doc:`/small-objects`.
