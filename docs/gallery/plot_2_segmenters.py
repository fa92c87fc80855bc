"""
Segmenters side by side
=======================

A mask can be no better than its segments. Here every segmenter divides the same picture
into the same number of segments. Compare the outlines: the rim of the cup, the handle of the spoon.
"""

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from skimage.data import coffee
from skimage.segmentation import mark_boundaries

from segvote import SEGMENTERS

# 400 pixels on the longest side, as `segvote annotate` does.
image = np.asarray(Image.fromarray(coffee()).resize((400, 267), Image.Resampling.BOX))
names = list(SEGMENTERS)
segmented = {name: SEGMENTERS[name](image, n_segments=60) for name in names}


def show(axes, picture, title):
    axes.imshow(picture)
    axes.set_title(title)
    axes.axis("off")


figure, grid = plt.subplots(2, 3, figsize=(9, 4.4), layout="constrained")
show(grid.flat[0], image, "picture")
for axes, (name, segmentation) in zip(grid.flat[1:], segmented.items(), strict=True):
    show(
        axes,
        mark_boundaries(image, segmentation.labels, color=(1, 0.85, 0.2)),
        f"{name}: {segmentation.n_segments} segments",
    )

# %%
# *slic* makes segments of one size, so smooth parts are divided without an edge. *felzenszwalb* makes large and
# small ones. *ward*, the default, merges neighbours of similar colour: it is fast and follows outlines. *gpb* finds
# contours in brightness, colour and texture first; it costs several times as much. *supervoxels* are made for videos,
# whose regions they follow through time; a picture is a video of one frame. :doc:`/segmenters` has the measurements.
#
# A tree, not one partition
# -------------------------
#
# Every segmenter also returns the tree in which its segments merge, which contains coarser partitions.


def merge_segments(segmentation, n_segments):
    """Label map after the cheapest merges, until `n_segments` are left."""
    n_nodes, parents = len(segmentation.parents), segmentation.parents
    merged = np.argsort(segmentation.altitudes, kind="stable")[: n_nodes + 1 - n_segments]
    is_merged, top = np.isin(np.arange(n_nodes), merged), np.arange(n_nodes)
    for node in reversed(range(n_nodes - 1)):  # parents come after their children
        if is_merged[parents[node]]:
            top[node] = top[parents[node]]
    return top[segmentation.labels]


ward = segmented["ward"]
figure, row = plt.subplots(1, 3, figsize=(9, 2.4), layout="constrained")
for axes, n_segments in zip(row, (40, 16, 6), strict=True):
    show(axes, mark_boundaries(image, merge_segments(ward, n_segments), color=(1, 0.85, 0.2)), f"{n_segments} segments")

# %%
# Number of segments
# ------------------
#
# Use enough that no segment contains both object and background. The default is 200 for a picture of
# 400 pixels. ``segvote evaluate`` prints the *limit*: the result of these segments labelled
# by the ground truth. If the limit is far above the result, look at the votes; if they are
# close, use more segments.
