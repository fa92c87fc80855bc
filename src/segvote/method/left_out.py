"""How well finished images are predicted when each is left out, and what follows for the other images.

Overlaps count whole segments: the share of each segment that is object is known in a finished image.
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from segvote.method.table import SegmentTable
from segvote.method.teach import teach
from segvote.method.vote import Vote

# Finished images that are left out, at most: each takes a vote.
MOST_LEFT_OUT = 8
LEVEL = 0.9  # of the interval
# Fewest values that an interval is made of.
FEWEST = 3


def choose_left_out(table: SegmentTable, finished: np.ndarray, random: np.ndarray | None = None) -> np.ndarray:
    """(k,) numbers of the finished images to leave out: at most `MOST_LEFT_OUT`, evenly spaced; none of a single one.

    Only those of `random` (n_images,) bool where there are at least `FEWEST`: a user picked the others.
    """
    images = np.unique(table.images[~np.isnan(finished)])
    if len(images) < 2:
        return images[:0]
    if random is not None and random[images].sum() >= FEWEST:
        images = images[random[images]]
    return images[np.unique(np.linspace(0, len(images) - 1, MOST_LEFT_OUT).round().astype(np.int64))]


def predict_left_out(base: Vote, finished: np.ndarray, image: int) -> tuple[float, float]:
    """IoU of a finished image in the vote before any was finished, and in the vote that the others taught.

    Parameters
    ----------
    base : Vote
        Before any image was finished.
    finished : (n_segments,)
        As for `segvote.method.teach.teach`.
    image : int
        Number of the image to leave out.
    """
    own, shares = base.table.images == image, np.nan_to_num(finished)
    taught = teach(base, np.where(own, np.nan, finished))
    before, after = (measure_iou(base.table, vote.selection.selected, shares, own) for vote in (base, taught))
    return before, after


def measure_iou(table: SegmentTable, selected: np.ndarray, shares: np.ndarray, own: np.ndarray) -> float:
    """IoU of the selected segments of one image with the shares of them that are object; 1 where both are empty."""
    areas, shares, selected = table.areas[own], shares[own], selected[own]
    common = float(areas[selected] @ shares[selected])
    union = float(areas @ shares) + float(areas[selected].sum()) - common
    return common / union if union > 0 else 1.0


def find_interval(values: np.ndarray, level: float = LEVEL) -> tuple[float, float]:
    """The interval of Student's distribution that holds the mean from which values (k,) in [0, 1] were drawn."""
    margin = float(stdtrit(len(values) - 1, (1 + level) / 2)) * float(np.std(values, ddof=1)) / len(values) ** 0.5
    mean = float(np.mean(values))
    return max(0.0, mean - margin), min(1.0, mean + margin)
