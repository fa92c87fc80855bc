"""
Images in the wrong folder
==========================

Two images without the cup are in the folder *with*. The run excludes them from the vote, and
``diagnose`` lists them.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from skimage.io import imread

import segvote
from segvote.datasets import make_scenes, write_scenes

folder = Path(tempfile.mkdtemp())
write_scenes(folder, make_scenes(n_with=14, n_without=16, seed=3, size=(240, 180), object_area=(0.05, 0.12)))
for name in ("without-000.png", "without-001.png"):
    (folder / "without" / name).rename(folder / "with" / f"misfiled-{name}")

# %%
# Annotate as usual.

settings = segvote.Settings(size=240, n_segments=100)
run = segvote.annotate(folder / "with", folder / "without", folder / "run", settings, n_jobs=1)

# %%
# The images most likely mislabelled come first; ``list_serious`` returns those to check.

diagnosis = run.diagnose()
for one in diagnosis.images[:4]:
    print(f"{one.name:36} suspicion {one.suspicion:.2f}")

figure, row = plt.subplots(1, 4, figsize=(9, 1.9), layout="constrained")
for axes, one in zip(row, diagnosis.images, strict=False):
    axes.imshow(imread(folder / one.name))
    axes.set_title(f"{one.suspicion:.2f}")
    axes.axis("off")
