"""Area under the ROC curve, by ranks.

A sum of ranks is exact, so that equal orders have equal areas; scikit-learn's `roc_auc_score` adds up trapezoids, whose
rounding would choose between equal columns.
"""

from __future__ import annotations

import numpy as np


def measure_auc(values: np.ndarray, positive: np.ndarray) -> float:
    """Probability that a positive value exceeds a negative one, ties counted half.

    Parameters
    ----------
    values : ndarray of shape (n,)
    positive : ndarray of shape (n,), bool
        Which values are positive; at least one is, and one is not.

    Returns
    -------
    float
    """
    from scipy.stats import rankdata  # takes half a second to import

    n_positive = int(positive.sum())
    n_pairs = rankdata(values)[positive].sum() - n_positive * (n_positive + 1) / 2
    return float(n_pairs / (n_positive * (len(positive) - n_positive)))
