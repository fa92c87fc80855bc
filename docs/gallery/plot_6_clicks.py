"""
From clicks to masks
====================

``segvote review`` shows masks in the browser. A click labels one segment as object or as background, and
all segments vote again. Here a script that knows the ground truth clicks.

With the default network there would be nothing to correct, so the features are
colours only.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from skimage.io import imread

from segvote import Settings, annotate
from segvote.datasets import make_scenes, write_scenes

folder = Path(tempfile.mkdtemp())
write_scenes(folder, make_scenes(n_with=12, n_without=12, seed=1, size=(240, 180), object_area=(0.05, 0.12)))
settings = Settings(size=240, n_segments=100, features="color")
run = annotate(folder / "with", folder / "without", folder / "run", settings, n_jobs=1)
vote = run.hold_vote()  # the vote of the run, ready for corrections

labels = [run.read_segments(index)["labels"] for index in range(12)]
truths = [imread(folder / "masks" / f"with-{index:03d}.png") > 0 for index in range(12)]


def mostly_cup(index):
    """Of each segment, whether more than half of it is cup."""
    areas = np.bincount(labels[index].ravel())
    return np.bincount(labels[index].ravel(), weights=truths[index].ravel()) > areas / 2


def draw_masks(result):
    return [result.selected[run.get_slice(index)][labels[index]] for index in range(12)]


def measure(masks):
    """Intersection over union, image by image."""
    return np.array([(mask & truth).sum() / (mask | truth).sum() for mask, truth in zip(masks, truths, strict=True)])


# %%
# Simulated clicks
# ----------------
#
# Each click is on the largest wrong segment. ``correct`` applies the corrections without a new vote,
# in milliseconds. A corrected segment has a user label and changes the scores of similar segments
# in every image.

cup = np.concatenate([mostly_cup(index) for index in range(12)])
areas = np.concatenate([np.bincount(one.ravel()) for one in labels])
images = np.repeat(np.arange(12), [one.max() + 1 for one in labels])  # of each segment
result = first = vote.correct(None).selection
user_labels = np.full(len(result.scores), -1, dtype=np.int8)  # -1: no user label
history, clicks = [draw_masks(result)], []
for _ in range(16):
    wrong = (result.selected[: len(cup)] != cup) & (user_labels[: len(cup)] < 0)
    clicked = int(np.argmax(np.where(wrong, areas, 0)))
    user_labels[clicked] = cup[clicked]
    result = vote.correct(user_labels).selection
    clicks.append(clicked)
    history.append(draw_masks(result))

# %%
# Four of the images, before and after. A dot is a click: yellow for object, blue for background.

before, after = measure(history[0]), measure(history[-1])
shown = np.argsort(before - after)[:4]


def find_centre(segment):
    """Row and column."""
    image = images[segment]
    return np.argwhere(labels[image] == segment - run.get_slice(image).start).mean(axis=0)


centres = [find_centre(one) for one in clicks]

figure, grid = plt.subplots(2, 4, figsize=(9, 3.9), layout="constrained")
for column, index in zip(grid.T, shown, strict=True):
    for axes, masks, found in zip(column, (history[0], history[-1]), (before, after), strict=True):
        axes.imshow(np.where(masks[index][..., None], run.read_image(index), 235))
        axes.set_title(f"overlap {found[index]:.2f}")
        axes.axis("off")
    for (row, across), one in zip(centres, clicks, strict=True):
        if images[one] == index:
            column[1].plot(
                across, row, "o", color="#f8d350" if cup[one] else "#4fb3e8", markeredgecolor="white", markersize=6
            )

# %%
# All images. The dashed line is the result if each click changed its own segment only; the difference
# is due to propagation.


def change_only_clicked(n_clicks):
    selected = first.selected.copy()
    selected[clicks[:n_clicks]] = cup[clicks[:n_clicks]]
    return [selected[run.get_slice(index)][labels[index]] for index in range(12)]


figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.plot([measure(masks).mean() for masks in history], color="#d6452b", label="everything votes again")
alone = [measure(change_only_clicked(n)).mean() for n in range(len(history))]
axes.plot(alone, color="#8a919c", linestyle="--", label="only the clicked segment changes")
axes.set(xlabel="clicks", ylabel="mean overlap with the truth", ylim=(0, 1))
axes.legend(loc="upper left")

# %%
# :doc:`/review` has results on photographs. Corrections are kept in the run folder, one transaction per click, and
# ``segvote annotate`` on the same folder applies them.
