"""Walks over the votes against plain loops and their fixed points."""

import numpy as np
import pytest
from made_tables import label, make_scene, tabulate
from scipy import sparse

from segvote.method.graph import search_graph
from segvote.method.walk import scale_votes, walk, walk_from_labels


@pytest.fixture(scope="module")
def scene():
    table = tabulate(make_scene(n_images=10, n_segments=8, noise=0.5))
    prior = np.random.default_rng(2).uniform(0.5, 1.0, len(table))
    return table, search_graph(table, 6), prior, table.is_candidate


@pytest.mark.parametrize("balance", [0.0, 0.25, 1.0])
def test_votes_are_those_of_a_plain_loop(scene, balance):
    table, graph, prior, voters = scene
    M, w = graph.toarray(), table.is_candidate.astype(float)
    for _ in range(15):
        w = table.is_candidate * prior * (M @ w)
        for image in np.flatnonzero(table.positive):
            own = table.images == image
            w[own] /= (w[own] * table.shares[own]).sum() ** balance
        w /= w.max()
    votes = prior * (M @ w)
    walked = walk(table, graph, prior, voters, balance, 15)
    assert np.allclose(scale_votes(walked, voters), votes / votes[voters].max())


@pytest.mark.parametrize("balance", [0.0, 0.25])
def test_many_labellings_walk_like_each_of_them(scene, balance):
    table, graph, prior, voters = scene
    shuffled = np.random.default_rng(3).permutation(table.positive)[table.images]
    both = walk(table, graph, prior, np.stack([voters, shuffled], axis=1), balance, 15)
    for column, own in zip(both.T, (voters, shuffled), strict=True):
        assert np.allclose(column, walk(table, graph, prior, own, balance, 15), rtol=1e-12)


def test_the_walk_keeps_the_precision_of_the_graph(scene):
    table, graph, prior, voters = scene
    single = walk(table, graph.astype(np.float32), prior.astype(np.float32), voters, 0.25, 15)
    assert single.dtype == np.float32
    assert np.allclose(single, walk(table, graph, prior, voters, 0.25, 15), rtol=1e-4)


def test_weights_that_vanish_are_zero_and_no_error(scene):
    table, graph, prior, voters = scene
    assert not walk(table, sparse.csr_matrix(graph.shape), prior, voters, 0.25, 60).any()


def test_the_walk_from_labels_ends_in_the_harmonic_function(scene):
    table, graph, _, _ = scene
    labels = label(len(table), objects=[5], background=[1])
    free = np.flatnonzero(table.is_candidate & (labels < 0))
    weights = walk_from_labels(graph, table.is_candidate, labels, 20_000)
    assert np.allclose(weights[free], graph.toarray()[free] @ weights, atol=1e-6)
    assert weights[5] == 1 and weights[1] == 0 and not weights[~table.is_candidate].any()
    assert weights.min() >= 0 and weights.max() <= 1
