"""The neighbour graph: bags, voters that are left out, stretched features. The kernels' tests have its formula."""

import numpy as np
from made_tables import make_scene, tabulate

from segvote.method.graph import exclude_voters, search_graph, stretch


def test_images_of_one_bag_do_not_vote_for_each_other():
    table = tabulate(make_scene(n_images=12, n_segments=8), np.arange(12) // 2)
    graph, bags = search_graph(table, 7).toarray(), table.bags
    assert np.allclose(graph.sum(axis=1), 1) and ((graph > 0).sum(axis=1) == 7).all()
    assert not graph[bags[:, None] == bags].any()


def test_without_excluded_voters_rows_sum_to_one_again():
    table = tabulate(make_scene(n_images=12, n_segments=8))
    graph, excluded = search_graph(table, 7), table.images < 3
    before = graph.copy()
    left = exclude_voters(graph, excluded).toarray()
    slow = np.where(excluded, 0.0, graph.toarray())
    sums = slow.sum(axis=1, keepdims=True)
    assert np.allclose(left, np.divide(slow, sums, out=np.zeros_like(slow), where=sums > 0))
    assert (graph != before).nnz == 0
    assert exclude_voters(graph, np.zeros(len(table), dtype=bool)) is graph


def test_stretched_features_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    X, direction = rng.normal(size=(7, 5)), rng.normal(size=5)
    direction /= np.linalg.norm(direction)
    expected = np.array([x + 3 * (direction @ x) * direction for x in X])
    assert np.allclose(stretch(X, direction, 4.0), expected)
    assert np.array_equal(stretch(X, direction, 1.0), X)
    assert np.array_equal(stretch(X, np.zeros(5), 4.0), X)
