"""
Videos
======

Video files and folders of frames are videos. Here a picture of a rocket is panned; in half of the videos a red ball
flies through it. Key frames vote like images, and every frame has a mask.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from skimage import data
from skimage.draw import disk
from skimage.io import imread, imsave

import segvote

rng, picture, folder = np.random.default_rng(0), data.rocket()[::2, ::2], Path(tempfile.mkdtemp())
height, width = 120, 160


def write_video(target, has_ball):
    """Ten frames of a pan, with or without a ball."""
    target.mkdir(parents=True)
    top, left = rng.integers(0, picture.shape[0] - height), rng.integers(0, picture.shape[1] - width - 20)
    row, colour = rng.integers(30, 90), rng.integers([190, 40, 30], [230, 70, 60])
    for number in range(10):
        frame = picture[top : top + height, left + 2 * number : left + 2 * number + width].copy()
        if has_ball:
            frame[disk((row, 25 + 11 * number), 13, shape=frame.shape)] = colour
        imsave(target / f"{number:03d}.png", frame, check_contrast=False)


for number in range(6):
    write_video(folder / "with" / f"v{number}", True)
    write_video(folder / "without" / f"v{number}", False)

# %%
# The same call as for images.

settings = segvote.Settings(size=160, n_segments=60)
run = segvote.annotate(folder / "with", folder / "without", folder / "run", settings, n_jobs=1)
print(run)

# %%
# The masks of a video are in a folder, named like the frames.

figure, grid = plt.subplots(2, 4, figsize=(9, 3.6), layout="constrained")
for column, number in zip(grid.T, (0, 3, 6, 9), strict=True):
    frame = imread(folder / "with/v0" / f"{number:03d}.png")
    mask = imread(folder / "run/masks/with/v0" / f"{number:03d}.png") > 0
    column[0].imshow(frame)
    column[1].imshow(np.where(mask[..., None], frame, 235))
    column[0].set_title(f"frame {number}")
for axes in grid.flat:
    axes.axis("off")

# %%
# :doc:`/video` lists the other files.
