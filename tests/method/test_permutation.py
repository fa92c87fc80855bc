"""The permutation test against walks held one by one, in double precision."""

import numpy as np
import pytest
from made_tables import hold, make_scene, tabulate

from segvote.kernels.otsu import split_otsu
from segvote.method import permutation
from segvote.method.permutation import N_STEPS, POWERS, PermutationTest, shuffle_labels, walk_all


@pytest.fixture(scope="module")
def found():
    return hold(make_scene(n_images=12, n_segments=10, noise=0.5))


def walk_slowly(graph, table, labels, prior, balance):
    """(n_segments,) votes of one labelling (n_images,), image by image."""
    M, inside = graph.toarray(), labels[table.images]
    w = inside.astype(float)
    for _ in range(N_STEPS):
        w = inside * prior * (M @ w)
        for image in np.flatnonzero(labels):
            own = table.images == image
            w[own] /= max((w[own] * table.shares[own]).sum(), 1e-30) ** balance
        w /= w.max()
    return prior * (M @ w)


@pytest.mark.parametrize("balance", [0.0, 0.25])
def test_walks_held_at_once_are_those_held_one_by_one(found, balance):
    table, prior = found.table, np.random.default_rng(0).uniform(0.6, 1, len(found.table))
    labels = shuffle_labels(table, 5)
    fast = walk_all(found.graph, table, labels, prior, balance)
    for column, one in zip(fast.T, labels.T, strict=True):
        slow = walk_slowly(found.graph, table, one, prior, balance)
        assert np.allclose(column / column.max(), slow / slow.max(), atol=1e-4)


def measure_slowly(found, labels, prior, balance):
    """Self-consistency of one labelling, from the definitions."""
    table, M, y = found.table, found.graph.toarray(), labels[found.table.images]
    smooth = lambda values: 0.6 * values + 0.4 * (table.adjacency @ values)  # noqa: E731
    parts = [np.flatnonzero(table.images == image) for image in np.flatnonzero(labels)]

    def select(values):
        chosen = np.zeros(len(values), dtype=bool)
        for own in parts:
            chosen[own] = values[own] > split_otsu(values[own], table.areas[own])[0]
            chosen[own[np.argmax(values[own])]] = True
        return chosen

    votes = smooth(walk_slowly(found.graph, table, labels, prior, balance))
    means = [np.mean([split_otsu(votes[own] ** power, table.areas[own])[1] for own in parts]) for power in POWERS]
    chosen = select(smooth(M @ select(votes ** POWERS[int(np.argmax(means))])))
    shares, rest, tops = M @ chosen, y & ~chosen, []
    for image in np.flatnonzero(~labels):
        left, total, own = 0.05, 0.0, np.flatnonzero(table.images == image)
        for one in own[np.argsort(-shares[own])]:
            taken = min(left, table.shares[one])
            left, total = left - taken, total + taken * shares[one]
        tops.append(total / 0.05)
    inside = np.average(shares[chosen], weights=table.areas[chosen])
    return inside * (1 - np.average(shares[rest], weights=table.areas[rest])) * (1 - np.mean(tops))


def test_the_test_agrees_with_its_slow_twin(found):
    test = permutation.test_permutations(found, n_shuffles=6)
    border, tried = np.where(found.table.border > 0, 0.9, 1.0), found.params.hypotheses
    priors = [(border * (1 - one.connectivity * found.connectivity), one.balance) for one in tried]
    labels = shuffle_labels(found.table, 6)
    slow = [max(measure_slowly(found, column, *one) for one in priors) for column in labels.T]
    assert np.allclose([test.observed, *test.shuffled], slow, atol=1e-6)


def test_a_planted_object_beats_every_shuffle(found):
    test = permutation.test_permutations(found)
    assert len(test.shuffled) == 19 and test.p_value == pytest.approx(0.05) and test.gain > 0.5


def test_shuffled_folders_are_no_better_than_others():
    X, _, images, geometry, truth = make_scene(n_images=24, n_segments=10, noise=0.5)
    values = []
    for seed in range(5):
        y = np.random.default_rng(seed).permutation(24)[images] < 12
        values.append(permutation.test_permutations(hold((X, y, images, geometry, truth))).p_value)
    assert np.mean(values) > 0.2


def test_shuffles_keep_the_number_of_labels(found):
    labels = shuffle_labels(found.table, 19)
    assert np.array_equal(labels[:, 0], found.table.positive)
    assert (labels.sum(axis=0) == 6).all() and len({tuple(column) for column in labels.T}) > 15


def test_images_of_a_group_keep_one_label():
    groups = np.repeat(np.arange(8), 3)
    labels = shuffle_labels(tabulate(make_scene(n_images=24, n_segments=8), groups), 19)
    for group in range(8):
        own = labels[groups == group]
        assert (own == own[:1]).all()


def test_the_figures_of_a_test_are_those_of_the_formulas():
    test = PermutationTest(0.6, np.array([0.1, 0.2, 0.6, 0.3]))
    assert test.p_value == pytest.approx(2 / 5) and test.mean == pytest.approx(0.3)
    assert test.gain == pytest.approx(0.3 / 0.7)
    assert PermutationTest(0.1, np.array([0.5])).gain == 0
