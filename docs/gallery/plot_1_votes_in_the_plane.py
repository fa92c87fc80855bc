"""
Kernels and votes in the plane
==============================

Segments of real images have hundreds of features. Here they have two, so that votes can be drawn.

Each of twelve *with* bags contains segments of four kinds of background and three of the object. Each of twelve
*without* bags contains background only. In both, there are a few outliers. No segment is labelled.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation
from matplotlib.colors import LinearSegmentedColormap

from segvote import VOTERS

Walk = VOTERS["walk"]
RED, BLUE, GREY = "#d6452b", "#2f7f9e", "#8a919c"
rng = np.random.default_rng(4)
backgrounds = np.array([[-3.2, 1.6], [-1.4, -1.8], [1.9, -1.6], [3.4, 1.4]])
target = np.array([0.6, 1.3])


def make_bag(is_with):
    """25 segments, in the plane; and which of them are the object."""
    X = backgrounds[rng.integers(4, size=25)] + rng.normal(0, 0.75, size=(25, 2))
    X[22:] = rng.uniform([-5.5, -4], [5.5, 4], size=(3, 2))
    truth = np.arange(25) < 3 * is_with
    X[truth] = target + rng.normal(0, 0.35, size=(truth.sum(), 2))
    return X, truth


made = [make_bag(bag < 12) for bag in range(24)]
X, truth = (np.concatenate(part) for part in zip(*made, strict=True))
bags = np.repeat(np.arange(24), 25)
y = bags < 12


def show_plane(axes, title):
    axes.set(xlim=(-5.6, 5.6), ylim=(-4.1, 4.1), xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_visible(False)
    return axes.set_title(title)


# %%
# Left: the input of the voter, points and the label of their bag. Right: the labels to find.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.scatter(*X[y].T, s=9, color=RED, label="of a bag with")
left.scatter(*X[~y].T, s=9, color=BLUE, label="of a bag without")
right.scatter(*X[~truth].T, s=9, color=GREY, label="background")
right.scatter(*X[truth].T, s=9, color=RED, label="the object")
show_plane(left, "what is known")
show_plane(right, "what is true")
for axes in (left, right):
    axes.legend(loc="lower left", fontsize=8, markerscale=2, handletextpad=0.2)

# %%
# Neighbours
# ----------
#
# The neighbours of a segment are its nearest segments in *other* bags, with and without together. Near ones have a
# high weight, far ones a low one: the kernel is a Gaussian whose bandwidth is half the distance to the farthest
# neighbour. So the bandwidth is small where segments are dense and large where they are rare.
#
# Below are a segment of the object, one of the background and an outlier. The ring is the bandwidth; a line is a vote,
# its width the weight.

voter = Walk(n_neighbors=20).fit(X, y, bags=bags)
of_target, of_background, odd = (
    int(np.argmin(np.linalg.norm(X - at, axis=1))) for at in [(0.9, 1.2), (-1.5, -2), (-4.6, -2)]
)

figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
axes.scatter(*X[y].T, s=8, color=RED, alpha=0.6, linewidths=0)
axes.scatter(*X[~y].T, s=8, color=BLUE, alpha=0.6, linewidths=0)
for segment in (of_target, of_background, odd):
    row = voter.graph_[[segment]]
    for neighbour, amount in zip(row.indices, row.data, strict=True):
        axes.plot(
            *X[[segment, neighbour]].T,
            color=RED if y[neighbour] else BLUE,
            linewidth=20 * amount,
            solid_capstyle="round",
        )
    bandwidth = np.linalg.norm(X[row.indices] - X[segment], axis=1).max() / 2
    axes.add_patch(plt.Circle(X[segment], bandwidth, fill=False, color=GREY, linewidth=1.2))
show_plane(axes, "three segments: red votes come from bags with, blue ones from bags without")

# %%
# Rounds of votes
# ---------------
#
# In the first round every segment of a *with* bag has weight 1, every segment of a *without* bag weight 0. A
# segment's new weight is the mean weight of its neighbours; then all weights are divided by the largest. In the next
# round they count with these weights. Background has many neighbours of weight 0, so its weight falls from round to
# round. So do the weights of outliers, whose neighbours are background. The segments of the object are neighbours of
# each other.
#
# Rings are segments of *with* bags, crosses those of *without* bags. The colours behind them are the votes for a
# new segment at that place.

rounds = [1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 60, 60, 60]
columns, rows = np.meshgrid(np.linspace(-5.6, 5.6, 90), np.linspace(-4.1, 4.1, 66))
plane = np.column_stack([columns.ravel(), rows.ravel()])
voted = {n: Walk(n_neighbors=20, n_steps=n).fit(X, y, bags=bags) for n in set(rounds)}
fields = {n: (one.decision_function(plane) + one.threshold_).reshape(rows.shape) for n, one in voted.items()}

figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
colours = [(0, "#141852"), (0.42, "#1e6e8c"), (0.62, "#f8d350"), (1, "#d62828")]  # those of the heat maps
heat = LinearSegmentedColormap.from_list("heat", colours)
field = axes.imshow(
    fields[1], origin="lower", extent=(-5.6, 5.6, -4.1, 4.1), cmap=heat, vmin=0, vmax=1, interpolation="bilinear"
)
axes.scatter(*X[~y].T, s=8, marker="x", color="#7fb2c8", linewidths=0.8)
points = axes.scatter(
    *X[y].T, c=voted[1].weights_[y], s=12, cmap=heat, vmin=0, vmax=1, edgecolors="white", linewidths=0.6
)
title = show_plane(axes, "before the vote")


def draw(n):
    field.set_data(fields[n])
    points.set_array(voted[n].weights_[y])
    title.set_text(f"after {n} round{'s' * (n > 1)} of voting: the warmer, the more votes")


animation = FuncAnimation(figure, draw, frames=rounds, init_func=lambda: None)

# %%
# Weights stay high where a random walk from neighbour to neighbour can continue for long without meeting a
# *without* bag. :ref:`sphx_glr_auto_gallery_plot_4_the_walk.py` simulates such walks. The threshold is
# Otsu's, and the decision is right for this share of the segments in *with* bags:

right_ones = (voted[60].scores_[y] > 0) == truth[y]
print(f"{right_ones.mean():.1%} of {len(right_ones)}")
