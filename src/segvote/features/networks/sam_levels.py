"""Part, object and whole: masks of a promptable network for a point or a box of an image, the smallest first.

The decoder of ``segvote-mobile-sam`` gives four masks: one for unambiguous prompts, such as a box, and three for
ambiguous ones, such as a point. A decoder that gives fewer is used as it is.
"""

from __future__ import annotations

import numpy as np

from segvote.features.networks.sam import BOTTOM_RIGHT, GRID, INSIDE, SIDE, SMALL_MASKS, TOP_LEFT, Sam, fit_sides

LEVELS = ("part", "object", "whole")
ALL_MASKS = "all_masks"  # output of the decoder
N_ALL = 4  # masks of a decoder that gives all; the first is that for unambiguous prompts
NO_POINT = -1  # label of the point that stands for a box where there is none


def find_levels(sam: Sam, embedding: np.ndarray, corners: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """(3, GRID, GRID) float32: logits of part, object and whole; none, (0, GRID, GRID), where every mask is empty.

    Corners are one point, (1, 2) x and y in pixels of the picture (h, w), or two of a box, the upper left one first.
    """
    is_box = len(corners) > 1
    scaled = corners * (np.array(fit_sides(shape, SIDE)[::-1]) / np.array(shape[1::-1]))
    points = scaled if is_box else np.vstack([scaled, np.zeros(2)])
    labels = np.array([TOP_LEFT, BOTTOM_RIGHT] if is_box else [INSIDE, NO_POINT])
    outputs = {one.name for one in sam.decoder.get_outputs()}
    logits = sam.decode(embedding, points, labels, shape, ALL_MASKS if ALL_MASKS in outputs else SMALL_MASKS)
    height, width = fit_sides(shape, GRID)
    return order_levels(logits, (logits[:, :height, :width] > 0).sum(axis=(1, 2)), is_box)


def order_levels(logits: np.ndarray, areas: np.ndarray, is_box: bool) -> np.ndarray:
    """Choose smallest, middle and largest of masks (n, GRID, GRID) by their areas (n,), without empty ones.

    The middle mask for a box is the network's own choice, if the decoder gives all.
    """
    ordered = np.argsort(areas, kind="stable")
    if len(logits) == N_ALL:
        several = ordered[ordered > 0]
        chosen = np.array([several[0], 0, several[-1]]) if is_box else several
        ordered = chosen[np.argsort(areas[chosen], kind="stable")]
    ordered = ordered[areas[ordered] > 0]
    if not len(ordered):
        return logits[:0]
    return logits[ordered[np.linspace(0, len(ordered) - 1, len(LEVELS)).round().astype(int)]]
