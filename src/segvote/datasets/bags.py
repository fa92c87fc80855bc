"""Synthetic bags: features of segments without any picture, with a planted object, for tests of voters and for scaling.

The background clusters occur in every bag. The object is a tight cluster beside one of them, repeated over the *with*
bags. Two kinds mislead simple voters: *odd* segments, far from all others and never repeated, in bags of both
labels (they are farthest from all negatives, which NegMin takes for the object), and *look-alikes*, a few *without*
segments near the object (they penalise it where CRANE counts penalties).
"""

from __future__ import annotations

import numpy as np

from segvote.errors import BadInputError


def make_bags(
    n_with: int = 20,
    n_without: int = 20,
    n_segments: int = 40,
    n_object: int = 4,
    n_odd: int = 4,
    n_dims: int = 16,
    n_clusters: int = 6,
    look_alikes: float = 0.1,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Make bags with a planted object.

    Parameters
    ----------
    n_with, n_without : int
        Number of bags of each bag label.
    n_segments : int
        Segments per bag; `n_object` of them are object in a *with* bag, `n_odd` are odd in every bag.
    n_object, n_odd : int
        See above.
    n_dims : int
        Length of a feature vector.
    n_clusters : int
        Number of background clusters that all bags share.
    look_alikes : float
        Part of the *without* bags in which one segment looks like the object.
    seed : int
        Equal seeds give equal bags.

    Returns
    -------
    X, y, bags, truth : ndarray
        (n, n_dims) float64 features; (n,) int, the bag label copied to its segments; (n,) int bag ids, *with* bags
        first; (n,) bool, whether the segment is object.
    """
    if n_object + n_odd > n_segments or n_object < 1:
        raise BadInputError(
            f"a bag of {n_segments} segments cannot hold {n_object} of the object and {n_odd} odd ones; make it larger"
        )
    rng = np.random.default_rng(seed)
    n_bags = n_with + n_without
    centres = rng.normal(0, 3, size=(n_clusters, n_dims))
    bags = np.repeat(np.arange(n_bags), n_segments)
    y = (bags < n_with).astype(int)
    place = np.tile(np.arange(n_segments), n_bags)
    truth = (y == 1) & (place < n_object)
    is_alike = (y == 0) & (place == 0) & (rng.random(n_bags) < look_alikes)[bags]
    X = centres[rng.integers(n_clusters, size=len(bags))] + rng.normal(0, 1, size=(len(bags), n_dims))
    direction = rng.normal(size=n_dims)
    object_centre = centres[0] + 5 * (direction / np.linalg.norm(direction))
    X[truth | is_alike] = object_centre + rng.normal(0, 0.7, size=(np.sum(truth | is_alike), n_dims))
    is_odd = place >= n_segments - n_odd
    X[is_odd] = rng.normal(0, 6, size=(is_odd.sum(), n_dims))
    return X, y, bags, truth
