"""
The walk that never meets a negative
====================================

The iteration of the eKDE paper converges to an empty selection. This example shows why, and what
``walk`` does instead.

With equal bandwidths, one round is a linear map. A segment's new weight is

.. math:: w_i \\leftarrow \\frac{\\sum_{j \\in P} k_{ij} w_j}{\\sum_{j \\in P} k_{ij} + \\sum_{n \\in N} k_{in}}

with :math:`P` the segments of *with* bags and :math:`N` those of *without* bags: :math:`w \\leftarrow M w`, and the
rows of :math:`M` sum to less than one, since the denominator also counts the negatives.
"""

import matplotlib.pyplot as plt
import numpy as np

from segvote.datasets import make_bags

RED, BLUE, GREY = "#d6452b", "#2f7f9e", "#8a919c"
X, y, bags, truth = make_bags(n_odd=0, seed=3)
P, target = y == 1, truth[y == 1]
squared = ((X[P][:, None] - X[None]) ** 2).sum(axis=2)
kernel = np.exp(-squared / (2 * 1.5**2))
steps = kernel / kernel.sum(axis=1, keepdims=True)  # from a segment of P to any segment: rows sum to one
M = steps[:, P]

# %%
# The rows of :math:`M` are probabilities of a random walk from segment :math:`i` to a similar segment :math:`j`. A
# step to a *without* segment ends the walk. Then :math:`w^{(t)} = M^t 1` is the probability that a walk from
# :math:`i` is still going after :math:`t` steps.
#
# The simulation starts a thousand walks from one segment of the object and one of the background.

rng = np.random.default_rng(0)
n_rounds, n_walkers = 40, 1000
place_in_P = np.cumsum(P) - 1


def walk(start):
    """Share of walkers that have met no negative, after each step."""
    at, going, shares = np.full(n_walkers, start), np.ones(n_walkers, dtype=bool), [1.0]
    for _ in range(n_rounds):
        cumulated = np.cumsum(steps[at], axis=1)
        reached = (rng.random((n_walkers, 1)) < cumulated).argmax(axis=1)
        going &= P[reached]
        at = np.where(going, place_in_P[reached], 0)
        shares.append(going.mean())
    return shares


def iterate(rescale):
    """Weights after each round, from 1 on."""
    weights = [np.ones(P.sum())]
    for _ in range(n_rounds):
        after = M @ weights[-1]
        weights.append(after / after.max() if rescale else after)
    return np.array(weights)


printed, rescaled = iterate(rescale=False), iterate(rescale=True)
of_target, of_background = np.flatnonzero(target)[0], np.flatnonzero(~target)[5]

figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for start, colour, name in (
    (of_target, RED, "a segment of the object"),
    (of_background, BLUE, "a segment of the background"),
):
    axes.plot(printed[:, start], color=colour, label=f"{name}: weight w")
    axes.plot(walk(start), "o", color=colour, markersize=3.5, alpha=0.7, label="walkers still going")
axes.set(xlabel="rounds of voting, steps of the walk", ylabel="share", ylim=(-0.02, 1.02))
axes.legend()

# %%
# Simulation and formula agree, and both curves fall. The object's falls slowly, but a similar segment of a *without*
# bag is met sooner or later. In the limit every weight is 0.
#
# Renormalisation
# ---------------
#
# While the weights go to 0, their *ratios* converge. ``walk`` therefore divides by the largest weight after each round.

figure, row = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
for axes, weights, title in zip(row, (printed, rescaled), ("as printed", "divided by the largest"), strict=True):
    for kind, colour, name in ((target, RED, "the object"), (~target, BLUE, "background")):
        low, middle, high = np.quantile(weights[:, kind], (0.1, 0.5, 0.9), axis=1)
        axes.fill_between(range(n_rounds + 1), low, high, color=colour, alpha=0.25, linewidth=0)
        axes.plot(middle, color=colour, label=name)
    axes.set(title=title, xlabel="rounds of voting", ylim=(-0.02, 1.02))
row[0].set_ylabel("weight: median, 10 % to 90 %")
row[1].legend(loc="center right")

# %%
# The weights converge to the leading eigenvector of :math:`M`: where walks end that have not met a negative.
# The share that is still going falls by this factor each round:

print(f"largest eigenvalue of M: {np.abs(np.linalg.eigvals(M)).max():.4f}")

# %%
# For photographs, ``walk`` has three additions: neighbours are in other images, bandwidths are adaptive
# (:ref:`sphx_glr_auto_gallery_plot_3_bandwidths.py`), and segments on the border of an image have a background prior
# of .9. :doc:`/how-voting-works` has the reasons.
