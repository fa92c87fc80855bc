"""
Bandwidths: good at one value, useless at twice that
====================================================

The paper's votes are kernels with one bandwidth for all segments. This example shows how much the result depends on it.

The data are synthetic: 20 *with* and 20 *without* bags, 40 segments of 16 features each, a planted object of 4
segments per *with* bag, and 4 outliers in every bag.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import average_precision_score

from segvote import VOTERS
from segvote.datasets import make_bags

Walk, PaperEKDE = VOTERS["walk"], VOTERS["ekde-paper"]
RED, BLUE, GREY = "#d6452b", "#2f7f9e", "#8a919c"
X, y, bags, truth = make_bags(seed=3)
candidates = y == 1


def measure(voter):
    """Average precision among the segments of *with* bags: 1 if the object's come first, all of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns when it selects all or nothing, which is the subject here
        voter.fit(X, y, bags=bags)
    return average_precision_score(truth[candidates], voter.scores_[candidates])


# %%
# The printed iteration, stopped after five rounds, over a wide range of bandwidths; and ``walk``, whose bandwidth is
# half the distance to the farthest neighbour of each segment, over a wide range of the number of neighbours.

bandwidths = np.geomspace(0.5, 32, 25)
fixed = [measure(PaperEKDE(bandwidth_for=one, bandwidth_against=one, max_iter=5, tol=0)) for one in bandwidths]
counts = [5, 10, 20, 40, 80, 160, 320]
adaptive = [measure(Walk(n_neighbors=count)) for count in counts]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
left.plot(bandwidths, fixed, "o-", color=BLUE, markersize=4)
left.set(title="one bandwidth for all, as printed", xlabel="bandwidth", ylabel="average precision", xscale="log")
right.plot(counts, adaptive, "o-", color=RED, markersize=4)
right.set(title="a bandwidth for each: walk", xlabel="neighbours of a segment", xscale="log", ylim=(0, 1.05))
for axes, ticks in ((left, (0.5, 1, 2, 4, 8, 16, 32)), (right, counts)):
    axes.set_xticks(ticks, labels=ticks)
    axes.minorticks_off()
    chance = axes.axhline(truth[candidates].mean(), color=GREY, linestyle=":", linewidth=1)
left.legend([chance], ["chance"], loc="upper right")

# %%
# Bandwidths from 1 to 2 work. Slightly larger ones are worse than chance, since with wide kernels the
# dense background collects more votes than the object. The paper's
# rule ("maximise the overall class density difference") chooses from a grid in steps of a factor of ten, too coarse for
# so narrow a window. And the paper iterates until convergence, which undoes even a good
# choice: :ref:`sphx_glr_auto_gallery_plot_4_the_walk.py`.

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    chosen = PaperEKDE().fit(X, y, bags=bags)
found = average_precision_score(truth[candidates], chosen.scores_[candidates])
print(f"chosen for: {chosen.bandwidth_for_:g}, against: {chosen.bandwidth_against_:g}; average precision {found:.2f}")

# %%
# Adaptive bandwidths
# -------------------
#
# No single bandwidth is right, because the distances to neighbours differ between segments, as they do
# in real features.

voter = Walk().fit(X, y, bags=bags)
reach = np.array([np.linalg.norm(X[row.indices] - X[i], axis=1).max() / 2 for i, row in enumerate(voter.graph_)])
odd = np.tile(np.arange(40) >= 36, 40)

figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
bins = np.linspace(0, reach.max(), 50)
for kind, colour, name in ((truth, RED, "the object"), (~truth & ~odd, BLUE, "background"), (odd, GREY, "odd ones")):
    axes.hist(reach[kind], bins, color=colour, alpha=0.8, density=True, label=name)
axes.set(xlabel="bandwidth that a segment takes for itself", yticks=[])
axes.spines["left"].set_visible(False)
axes.legend()
