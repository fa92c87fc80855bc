"""The permutation test against walks held one by one, in double precision."""

import numpy as np
import pytest
from made_tables import hold, make_scene, tabulate

from segvote.method.permutation import (
    N_SHUFFLED_STEPS,
    SHUFFLED_POWERS,
    PermutationTest,
    run_permutation_test,
    shuffle_labels,
)
from segvote.numerics.otsu import split_each


@pytest.fixture(scope="module")
def vote():
    return hold(make_scene(n_images=12, n_segments=10, noise=0.5))


def walk_slowly(graph, table, labels, prior, balance):
    """(n_segments,) votes of one labelling (n_images,), image by image."""
    M, inside = graph.toarray(), labels[table.images]
    w = inside.astype(float)
    for _ in range(N_SHUFFLED_STEPS):
        w = inside * prior * (M @ w)
        for image in np.flatnonzero(labels):
            own = table.images == image
            w[own] /= max((w[own] * table.shares[own]).sum(), 1e-30) ** balance
        w /= w.max()
    return prior * (M @ w)


def measure_slowly(vote, labels, prior, balance):
    """Self-consistency of one labelling, from the definitions."""
    table, M, y = vote.table, vote.inputs.graph.toarray(), labels[vote.table.images]
    smooth = lambda values: 0.6 * values + 0.4 * (table.adjacency @ values)  # noqa: E731
    parts = [np.flatnonzero(table.images == image) for image in np.flatnonzero(labels)]

    def select(values):
        chosen = np.zeros(len(values), dtype=bool)
        for own in parts:
            chosen[own] = values[own] > split_each([values[own]], [table.areas[own]])[0]
            chosen[own[np.argmax(values[own])]] = True
        return chosen

    votes = smooth(walk_slowly(vote.inputs.graph, table, labels, prior, balance))
    areas = [table.areas[own] for own in parts]
    split = lambda power: split_each([votes[own] ** power for own in parts], areas)[1].mean()  # noqa: E731
    chosen = select(smooth(M @ select(votes ** max(SHUFFLED_POWERS, key=split))))
    shares, rest, tops = M @ chosen, y & ~chosen, []
    for image in np.flatnonzero(~labels):
        left, total, own = 0.05, 0.0, np.flatnonzero(table.images == image)
        for one in own[np.argsort(-shares[own])]:
            taken = min(left, table.shares[one])
            left, total = left - taken, total + taken * shares[one]
        tops.append(total / 0.05)
    inside = np.average(shares[chosen], weights=table.areas[chosen])
    return inside * (1 - np.average(shares[rest], weights=table.areas[rest])) * (1 - np.mean(tops))


def test_the_test_agrees_with_its_slow_twin(vote):
    test = run_permutation_test(vote.inputs, n_shuffles=6)
    border, tried = np.where(vote.table.border > 0, 0.9, 1.0), vote.inputs.params.hypotheses
    priors = [(border * (1 - one.connectivity * vote.inputs.connectivity), one.balance) for one in tried]
    labels = shuffle_labels(vote.table, 6)
    slow = [max(measure_slowly(vote, column, *one) for one in priors) for column in labels.T]
    assert np.allclose([test.observed, *test.shuffled], slow, atol=1e-6)


def test_shuffled_folders_are_no_better_than_others():
    X, _, images, geometry, truth = make_scene(n_images=24, n_segments=10, noise=0.5)
    values = []
    for seed in range(5):
        y = np.random.default_rng(seed).permutation(24)[images] < 12
        values.append(run_permutation_test(hold((X, y, images, geometry, truth)).inputs).p_value)
    assert np.mean(values) > 0.2


def test_shuffles_keep_the_number_of_labels_and_the_bags():
    bags = np.repeat(np.arange(12), 2)
    labels = shuffle_labels(tabulate(make_scene(n_images=24, n_segments=8), bags), 19)
    assert labels[:, 0].tolist() == [True] * 12 + [False] * 12
    assert (labels.sum(axis=0) == 12).all() and len({tuple(column) for column in labels.T}) > 15
    assert np.array_equal(labels[::2], labels[1::2])


def test_the_figures_of_a_test_are_those_of_the_formulas():
    test = PermutationTest(0.6, np.array([0.1, 0.2, 0.6, 0.3]))
    assert test.p_value == pytest.approx(2 / 5) and test.mean == pytest.approx(0.3)
    assert test.gain == pytest.approx(0.3 / 0.7)
    assert PermutationTest(0.1, np.array([0.5])).gain == 0
