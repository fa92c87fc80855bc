"""Images as tables of segments in which an object is planted."""

import numpy as np

from segvote.method.graph import search_graph
from segvote.method.hypotheses import VoteParams
from segvote.method.table import Geometry, make_table
from segvote.method.vote import make_inputs, vote


def make_scene(n_images=24, n_segments=20, n_dims=6, noise=0.15, seed=0):
    """Features, labels, image ids, geometry and truth: segments on a ring, three object in *with* images."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n_images) < n_images // 2
    images = np.repeat(np.arange(n_images), n_segments)
    place = np.tile(np.arange(n_segments), n_images)
    kinds = rng.normal(size=(4, n_dims))  # what backgrounds look like
    X = kinds[rng.integers(0, 4, len(images))] + noise * rng.normal(size=(len(images), n_dims))
    truth = positive[images] & (place >= 5) & (place < 8)
    X[truth] = np.eye(n_dims)[0] * 3 + noise * rng.normal(size=(truth.sum(), n_dims))
    start = np.arange(n_images)[:, None] * n_segments
    ring = np.stack([np.arange(n_segments), (np.arange(n_segments) + 1) % n_segments], axis=1)
    edges = (start[:, :, None] + ring[None]).reshape(-1, 2)
    contrasts = np.where(truth[edges[:, 0]] != truth[edges[:, 1]], 20.0, rng.uniform(1, 8, len(edges)))
    geometry = Geometry(
        areas=rng.uniform(20, 60, len(images)),
        border=np.where(place % 10 == 0, 5.0, 0.0),
        edges=edges,
        lengths=rng.uniform(3, 9, len(edges)),
        contrasts=contrasts,
    )
    return X, positive[images], images, geometry, truth


def tabulate(scene, image_bags=None):
    """`SegmentTable` of a scene."""
    X, y, images, geometry, _ = scene
    return make_table(X, y[np.unique(images, return_index=True)[1]], images, geometry, image_bags)


def hold(scene, n_neighbors=10, image_bags=None, **params):
    """The vote on a scene."""
    table = tabulate(scene, image_bags)
    graph = search_graph(table, n_neighbors)
    return vote(make_inputs(table, graph, VoteParams(n_neighbors=n_neighbors, **params)))


def hold_wrong():
    """A vote whose folders differ by scene, which it selects, and the truth."""
    X, y, images, _, truth = make_scene()
    scene = y & ~truth
    X[scene] = np.eye(X.shape[1])[1] * 3 + 0.15 * np.random.default_rng(1).normal(size=(scene.sum(), X.shape[1]))
    # Without a prior, which of the two is found would be a matter of the last digits.
    against = Geometry(prior=np.where(truth, 0.97, 1.0))
    return hold((X, y, images, against, truth), n_neighbors=8), truth


def label(n_segments, objects=(), background=()):
    """User labels, unknown but for some segments."""
    labels = np.full(n_segments, -1, dtype=np.int8)
    labels[list(objects)], labels[list(background)] = 1, 0
    return labels


def measure_iou(one, other):
    return (one & other).sum() / max((one | other).sum(), 1)
