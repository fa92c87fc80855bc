"""What the method says of every segment and image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segvote.method.residual import ResidualVotes


@dataclass(frozen=True)
class Result:
    """Which segments are object.

    Attributes
    ----------
    scores : (n_segments,)
        Final scores; 0 is Otsu's threshold of the whole run.
    votes : (n_segments,)
        Before adjacent segments and corrections were counted in.
    thresholds : (n_images,)
        Score above which the segments of an image are object; 0 for *without* images.
    selected : (n_segments,) bool
        The object; never in a *without* image unless the user says so.
    weights : (n_segments,)
        Soft labels in [0, 1]; 0 in *without* images.
    user_labels : (n_segments,) int8
        -1 unknown, 0 background, 1 object.
    uncertainty : (n_images,)
        0 certain to 1; from 0.5 on the mask should be looked at. 0 for *without* images.
    residuals : ResidualVotes, optional
        What the user's corrections added to the scores.
    kept : (n_images,) bool, optional
        Images that have the scores of the vote without corrections, because those turn none of their segments; None:
        none has, or there were no corrections.
    """

    scores: np.ndarray
    votes: np.ndarray
    thresholds: np.ndarray
    selected: np.ndarray
    weights: np.ndarray
    user_labels: np.ndarray
    uncertainty: np.ndarray
    residuals: ResidualVotes | None = None
    kept: np.ndarray | None = None
