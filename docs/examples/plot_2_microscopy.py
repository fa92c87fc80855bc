"""
Microscopy: stained tissue
==========================

A tissue section, brown where a protein is stained, is divided into windows. The windows are sorted by whether they
contain stain; segvote outlines the stained tissue.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data
from skimage.color import rgb2hed
from skimage.transform import resize

import segvote

section = data.immunohistochemistry()
side, step = 96, 104
corners = range(0, len(section) - side + 1, step)
windows = [np.s_[top : top + side, left : left + side] for top in corners for left in corners]

# %%
# Sorting by hand takes a minute. Here the windows are sorted by colour: much brown, or none.

brown = rgb2hed(section)[..., 2] > 0.06
shown = [one for one in windows if 0.1 < brown[one].mean() < 0.9]
empty = [np.s_[top : top + side, left : left + side] for top in range(0, 416, 26) for left in range(0, 416, 26)]
empty = [one for one in empty if brown[one].mean() < 0.02]
print(f"{len(shown)} windows with stain, {len(empty)} without")

# %%
# Tissue fills windows to their border, so the background prior of the border is switched off.


def enlarge(window):
    return (resize(section[window], (192, 192), order=1) * 255).astype(np.uint8)


settings = segvote.Settings(size=192, n_segments=80, border_prior=1.0)
found = segvote.annotate_images([enlarge(one) for one in shown], [enlarge(one) for one in empty], settings)

figure, grid = plt.subplots(2, 6, figsize=(9, 3.2), layout="constrained")
for column, index in zip(grid.T, np.argsort([one.uncertainty for one in found])[:6], strict=True):
    picture = enlarge(shown[index])
    column[0].imshow(picture)
    column[1].imshow(np.where(found[index].mask[..., None], picture, 235))
    column[1].set_title(f"uncertainty {found[index].uncertainty:.2f}", fontsize=8)
for axes in grid.flat:
    axes.axis("off")
