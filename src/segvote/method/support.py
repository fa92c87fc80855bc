"""Is there anything in an image? Its best evidence against that of images without the object."""

from __future__ import annotations

import numpy as np

# Part of the images without the object that may keep a selection.
MAX_P_VALUE = 0.05


def measure_p_value(scores: np.ndarray, negatives: np.ndarray) -> np.ndarray:
    """(n,) share of images without the object that score at least as high, the image itself counted among them.

    Where the image and the others are scored by the same vote, which none of them took part in, the p-value of an image
    without the object is at most `a` with a probability of at most `a` (a conformal p-value).

    Parameters
    ----------
    scores : (n,)
        Of images.
    negatives : (n_without,)
        Of images without the object, ascending.
    """
    n_higher = len(negatives) - np.searchsorted(negatives, scores, side="left")
    return (1 + n_higher) / (len(negatives) + 1)


def find_unsupported(scores: np.ndarray, positive: np.ndarray, trusted: np.ndarray) -> np.ndarray:
    """(n_images,) bool: *with* images whose evidence does not exceed what *without* images reach.

    Parameters
    ----------
    scores : (n_images,)
        Evidence of each image, found without it.
    positive, trusted : (n_images,) bool
        *With* images; images that are likely in the right folder, to which *with* images are compared.
    """
    negatives = np.sort(scores[~positive & trusted])
    # So few *without* images that no p-value is small enough: it then has to exceed all of them.
    highest = max(MAX_P_VALUE, 1 / (len(negatives) + 1))
    return positive & (measure_p_value(scores, negatives) > highest)
