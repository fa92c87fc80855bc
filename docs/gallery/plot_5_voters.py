"""
Voters side by side
===================

What do the methods that people use for this make of the same segments? Twelve synthetic scenes show a coffee cup, twelve do
not; both show the same clutter, and picture cards of which no two are alike. All voters get the same segments, the same
features and the same rule for deciding.
"""

import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from segvote import Settings, annotate
from segvote.datasets import write_scenes
from segvote.io.masks import read_mask
from segvote.io.overlays import blend_heat
from segvote.masks import scale_heat
from segvote.metrics.ranking import average_precision
from segvote.steps.reopening import reopen
from segvote.steps.vote import fit_annotator

folder = Path(tempfile.mkdtemp())
write_scenes(folder, n_with=12, n_without=12, seed=1, size=(240, 180), object_area=(0.05, 0.12))
settings = Settings(size=240, n_segments=100)
run = annotate(folder / "with", folder / "without", folder / "run", settings, n_jobs=1)
opened = reopen(run)  # segments and features of the run, ready for another vote

# %%
# Vote with each of them. ``cam`` is today's habit (a classifier of whole images, read at each segment), ``negmin`` and
# ``crane`` look for what is far from the negatives, ``milboost`` and ``mi-svm-bag`` learn a classifier of segments,
# ``ekde-paper`` is the printed iteration.

voters = ["ekde", "ekde-paper", "cam", "milboost", "mi-svm-bag", "negmin", "crane"]
results = {}
for name in voters:
    chosen = replace(settings, voter=name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ekde-paper warns that it selects all or nothing
        results[name] = fit_annotator(opened.table, chosen).result_

# %%
# Their heat maps of two scenes. The colours change from cold to warm where each voter decides; the outline is the
# truth.

truths = [read_mask(folder / "masks" / f"with-{index:03d}.png") > 0 for index in range(12)]


def draw_heat(result, index):
    """The picture, in the colours of a voter's scores."""
    scores = result.scores[run.get_slice(index)]
    heat = scale_heat(scores, result.thresholds[index], scores.min(), scores.max())
    return blend_heat(run.read_image(index), heat[run.read_segments(index)["labels"]])


figure, grid = plt.subplots(4, 4, figsize=(9, 7.2), layout="constrained")
for rows, index in ((grid[:2], 0), (grid[2:], 7)):
    pictures = {"the scene": run.read_image(index)} | {name: draw_heat(results[name], index) for name in voters}
    for axes, (name, picture) in zip(rows.flat, pictures.items(), strict=True):
        axes.imshow(picture)
        axes.contour(truths[index], [0.5], colors="white", linewidths=0.8)
        axes.set_title(name)
        axes.axis("off")

# %%
# In figures: average precision of the ranking of all segments in *with* images. A segment counts as cup if most of it
# is.


def is_cup(index):
    labels = run.read_segments(index)["labels"]
    return np.bincount(labels.ravel(), weights=truths[index].ravel()) > np.bincount(labels.ravel()) / 2


truth = np.concatenate([is_cup(index) for index in range(12)])
found = {name: average_precision(result.scores[: len(truth)], truth) for name, result in results.items()}

figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
names = sorted(found, key=found.get)
bars = axes.barh(names, [found[name] for name in names], color=["#d6452b" if n == "ekde" else "#2f7f9e" for n in names])
axes.bar_label(bars, fmt="%.2f", padding=4)
axes.set(xlim=(0, 1.1), xlabel="average precision")

# %%
# The scenes were made to be hard in one way: cards and badly exposed pictures are unlike every negative, but they do
# not repeat. A voter that only looks for what is unlike the negatives falls for them. One that learns from whole bags
# does not, and ranks these segments nearly as well as ``ekde``; its maps show where it stops: at the most telling part,
# or beyond the rim. On photographs the distances are larger (:doc:`/paper`). Yours are hard in ways of their own:
# ``segvote compare`` draws this table for them, and :doc:`/voters` says when to take which.
