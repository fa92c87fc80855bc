"""
New images
==========

Every run contains a model. ``predict`` applies it to a folder of new images, at a false-positive rate that you
choose: about this share of images without the object is predicted to show it.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from skimage.io import imread

import segvote
from segvote.datasets import make_scenes, write_scenes

folder = Path(tempfile.mkdtemp())
style = {"size": (240, 180), "object_area": (0.05, 0.12)}
write_scenes(folder, make_scenes(n_with=10, n_without=20, seed=1, **style))
settings = segvote.Settings(size=240, n_segments=100)
segvote.annotate(folder / "with", folder / "without", folder / "run", settings, n_jobs=1)

# %%
# Eight new images, four of which show the cup, in one folder.

write_scenes(folder / "new", make_scenes(n_with=4, n_without=4, seed=7, **style))
(folder / "mixed").mkdir()
for path in sorted((folder / "new").glob("with*/*.png")):
    path.rename(folder / "mixed" / path.name)

# %%
# The answer for each image, and the mask if it shows the object.

found = segvote.predict(folder / "run", folder / "mixed", folder / "predicted", false_positive_rate=0.05, n_jobs=1)
figure, grid = plt.subplots(2, 4, figsize=(9, 3.8), layout="constrained")
for axes, image in zip(grid.flat, found.images, strict=True):
    axes.imshow(imread(folder / "mixed" / image.name))
    axes.set_title(f"{'shows it' if image.contains else 'does not'}, probability {image.probability:.2f}", fontsize=8)
    axes.axis("off")
