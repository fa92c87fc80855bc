"""
Voters side by side
===================

Common methods on the same segments. Eight synthetic scenes show a coffee cup, eight do
not; both show the same clutter, and picture cards that are all different. All voters use the same segments, the same
features and the same decision rule.
"""

import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from skimage.io import imread

from segvote import Settings, annotate
from segvote.datasets import make_scenes, write_scenes
from segvote.metrics import average_precision

folder = Path(tempfile.mkdtemp())
write_scenes(folder, make_scenes(n_with=8, n_without=8, seed=1, size=(240, 180), object_area=(0.05, 0.12)))
settings = Settings(size=240, n_segments=80)
run = annotate(folder / "with", folder / "without", folder / "run", settings, n_jobs=1)

# %%
# Vote with each of them, on the segments and features of the run. ``cam`` is a classifier of whole images, evaluated
# at each segment; ``negmin`` and ``crane`` select segments far from the negatives, ``milboost`` and ``mi-svm-bag``
# learn a classifier of segments, ``ekde-paper`` is the printed iteration.

voters = ["ekde", "ekde-paper", "cam", "milboost", "mi-svm-bag", "negmin", "crane"]
results = {}
for name in voters:
    chosen = replace(settings, voter=name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ekde-paper warns that it selects all or nothing
        results[name] = run.hold_vote(chosen).selection

# %%
# Heat maps of two scenes. The colours change from blue to red at the threshold of each voter; the outline is the
# ground truth.

truths = [imread(folder / "masks" / f"with-{index:03d}.png") > 0 for index in range(8)]


def draw_heat(axes, result, index):
    """The scores less the threshold of the image, each side of it on a scale of its own."""
    scores = result.scores[run.get_slice(index)] - result.thresholds[index]
    scores = np.where(scores > 0, scores / max(scores.max(), 1e-12), scores / max(-scores.min(), 1e-12))
    axes.imshow(scores[run.read_segments(index)["labels"]], cmap="coolwarm", vmin=-1, vmax=1)


figure, grid = plt.subplots(4, 4, figsize=(9, 7.2), layout="constrained")
for rows, index in ((grid[:2], 0), (grid[2:], 7)):
    rows.flat[0].imshow(run.read_image(index))
    rows.flat[0].set_title("the scene")
    for axes, name in zip(rows.flat[1:], voters, strict=True):
        draw_heat(axes, results[name], index)
        axes.set_title(name)
    for axes in rows.flat:
        axes.contour(truths[index], [0.5], colors="white", linewidths=0.8)
        axes.axis("off")

# %%
# Average precision of the ranking of all segments in *with* images. A segment counts as cup if most of it
# is.


def is_cup(index):
    labels = run.read_segments(index)["labels"]
    return np.bincount(labels.ravel(), weights=truths[index].ravel()) > np.bincount(labels.ravel()) / 2


truth = np.concatenate([is_cup(index) for index in range(8)])
found = {name: average_precision(result.scores[: len(truth)], truth) for name, result in results.items()}

figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
names = sorted(found, key=found.get)
bars = axes.barh(names, [found[name] for name in names], color=["#d6452b" if n == "ekde" else "#2f7f9e" for n in names])
axes.bar_label(bars, fmt="%.2f", padding=4)
axes.set(xlim=(0, 1.1), xlabel="average precision")

# %%
# The scenes are difficult in one way: cards and badly exposed pictures differ from every negative, but do
# not repeat. Voters that only use the distance to negatives select them. Voters that learn from whole bags
# do not, and rank these segments as well as ``ekde``; their heat maps cover only the most distinctive part,
# or extend beyond the rim. On photographs the differences are larger (:doc:`/research/paper`).
# ``segvote compare`` makes this table for your images, and :doc:`/voters` describes when to use which.
