"""
Two folders to masks
====================

Pictures of scikit-learn and scikit-image are arranged into scenes. Half of the scenes show a coffee cup, all show
other objects. The position of the cup is not given.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import segvote
from segvote.datasets import make_scenes, write_scenes

folder = Path(tempfile.mkdtemp())
write_scenes(folder, make_scenes(n_with=12, n_without=12, seed=1, size=(240, 180), object_area=(0.05, 0.12)))
settings = segvote.Settings(size=240, n_segments=100, label="cup")
run = segvote.annotate(folder / "with", folder / "without", folder / "run", settings, n_jobs=1)

# %%
# The confidence of the run, and its least certain images.

print(run.format_confidence())
for image in sorted(run, key=lambda one: -one.uncertainty)[:3]:
    print(f"{image.name:20} uncertainty {image.uncertainty:.2f}, covers {image.mask.mean():.1%}")

# %%
# ``plot`` draws an image, the scores above the threshold of this image, and the mask.

figure, grid = plt.subplots(2, 3, figsize=(9, 4.6), layout="constrained")
run.plot(0, grid[0])
run.plot(7, grid[1])

# %%
# The folder contains the masks, a COCO file and a report. With ground truth, masks can be measured:

found = segvote.evaluate(run, folder / "masks").to_dict()
print(f"CorLoc {found['corloc']:.2f}, mean IoU {found['miou']:.2f}; the segments allow {found['limit_miou']:.2f}")
