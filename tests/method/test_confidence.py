"""Confidence in a vote: each sign, each cap, the permutation test, and the second vote."""

from dataclasses import replace

import numpy as np
import pytest
from made_tables import hold, make_scene, measure_iou, tabulate

from segvote.kernels.otsu import split_each
from segvote.method import confidence
from segvote.method.confidence import (
    N_SHUFFLED_STEPS,
    NOT_SHARED,
    REASONS,
    SHUFFLED_POWERS,
    PermutationTest,
    is_overruled,
    judge_vote,
    measure_confidence,
    run_permutation_test,
    shuffle_labels,
    vote_and_judge,
)
from segvote.method.corrections import correct, refit_with_labels
from segvote.method.graph import search_graph
from segvote.method.hypotheses import VoteParams
from segvote.method.table import Geometry
from segvote.method.vote import vote_by_scores

CLEAR = PermutationTest(0.9, np.zeros(19))


def make_planted(shared=True, n_with=10, n_without=10):
    """Images of ten segments, the first an object in *with* images; the rest the same in all, or in each folder."""
    rng = np.random.default_rng(0)
    images = np.repeat(np.arange(n_with + n_without), 10)
    y = images < n_with
    X = rng.normal(0, 0.1, (len(images), 3))
    X[y & (np.arange(len(images)) % 10 == 0)] += [3, 0, 0]
    if not shared:
        X[~y] += [0, 9, 0]
    return X, y, images, None, None


def hold_planted(**given):
    return hold(make_planted(**given), n_neighbors=8)


def test_the_value_is_the_product_of_the_signs():
    found = measure_confidence(hold(make_scene(noise=0.6)))
    signs = found.separability, found.agreement, found.contrast, found.power, found.shared
    assert found.value == pytest.approx(np.prod(signs)) and all(0 <= sign <= 1 for sign in signs)


def test_a_planted_object_is_found_with_high_confidence():
    found = measure_confidence(hold_planted())
    assert found.level == "high" and found.cause == found.reason == found.advice == ""
    assert found.p_value == pytest.approx(0.05)


def test_a_background_of_its_own_lowers_the_confidence():
    assert measure_confidence(hold_planted(shared=True)).shared == 1
    assert measure_confidence(hold_planted(shared=False)).shared == NOT_SHARED


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_folders_earn_at_most_low(seed):
    X, _, images, geometry, truth = make_scene(n_images=40, n_segments=10)
    y = np.random.default_rng(seed).permutation(40)[images] < 20
    found = measure_confidence(hold((X, y, images, geometry, truth)))
    assert found.is_low and found.cause in REASONS


@pytest.mark.parametrize(("n_images", "level"), [(2, "low"), (5, "low"), (6, "fair"), (9, "fair"), (10, "high")])
@pytest.mark.parametrize("side", ["n_with", "n_without"])
def test_few_images_cap_the_confidence(side, n_images, level):
    found = measure_confidence(hold_planted(**{side: n_images}), CLEAR)
    levels = ("low", "fair", "high")
    assert levels.index(found.level) <= levels.index(level)


def test_images_of_one_bag_count_once():
    X, y, images, _, _ = make_planted()
    grouped = hold((X, y, images, None, None), n_neighbors=8, image_bags=np.arange(20) // 2)
    found = measure_confidence(grouped, CLEAR)
    assert found.is_low and found.cause == "few"


def test_what_shuffled_folders_reach_is_low():
    found = measure_confidence(hold_planted(), PermutationTest(0.5, np.full(19, 0.6)))
    assert found.is_low and found.cause == "chance" and found.p_value == 1


def test_a_second_vote_that_contradicts_is_not_high():
    found = measure_confidence(hold_planted(), CLEAR, contradicted=True)
    assert found.level == "fair" and found.cause == "scene" and found.contradicted


def test_noise_has_no_power():
    rng, images = np.random.default_rng(0), np.repeat(np.arange(40), 8)
    powers = []
    for _ in range(4):
        X = rng.normal(size=(len(images), 6))
        powers.append(measure_confidence(hold((X, images < 20, images, None, None)), CLEAR).power)
    assert np.mean(powers) < 0.25


def test_images_that_are_excluded_count_in_the_power():
    X, y, images, _, _ = make_planted()
    X[150] = [3, 0, 0]  # a *without* image that shows the object
    found = hold((X, y, images, None, None), n_neighbors=8, exclude_mislabelled=False)
    excluded = replace(found, excluded=np.arange(20) == 15)
    assert all(measure_confidence(one, CLEAR).power < 1 for one in (found, excluded))


def test_the_scores_of_another_voter_are_not_judged():
    found = measure_confidence(vote_by_scores(tabulate(make_scene()), np.zeros(480)))
    assert found.level == "unknown" and found.to_dict() == {} and not found.is_low


def test_a_record_holds_figures_and_words():
    record = measure_confidence(hold_planted(n_with=3)).to_dict()
    assert record["level"] == "low" and record["cause"] in REASONS
    assert (record["reason"], record["advice"]) == REASONS[record["cause"]]
    assert {"value", "separability", "agreement", "contrast", "power", "shared", "p_value"} <= set(record)


# Permutation test against walks held one by one, in double precision


@pytest.fixture(scope="module")
def found():
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


def measure_slowly(found, labels, prior, balance):
    """Self-consistency of one labelling, from the definitions."""
    table, M, y = found.table, found.graph.toarray(), labels[found.table.images]
    smooth = lambda values: 0.6 * values + 0.4 * (table.adjacency @ values)  # noqa: E731
    parts = [np.flatnonzero(table.images == image) for image in np.flatnonzero(labels)]

    def select(values):
        chosen = np.zeros(len(values), dtype=bool)
        for own in parts:
            chosen[own] = values[own] > split_each([values[own]], [table.areas[own]])[0]
            chosen[own[np.argmax(values[own])]] = True
        return chosen

    votes = smooth(walk_slowly(found.graph, table, labels, prior, balance))
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


def test_the_test_agrees_with_its_slow_twin(found):
    test = run_permutation_test(found, n_shuffles=6)
    border, tried = np.where(found.table.border > 0, 0.9, 1.0), found.params.hypotheses
    priors = [(border * (1 - one.connectivity * found.connectivity), one.balance) for one in tried]
    labels = shuffle_labels(found.table, 6)
    slow = [max(measure_slowly(found, column, *one) for one in priors) for column in labels.T]
    assert np.allclose([test.observed, *test.shuffled], slow, atol=1e-6)


def test_shuffled_folders_are_no_better_than_others():
    X, _, images, geometry, truth = make_scene(n_images=24, n_segments=10, noise=0.5)
    values = []
    for seed in range(5):
        y = np.random.default_rng(seed).permutation(24)[images] < 12
        values.append(run_permutation_test(hold((X, y, images, geometry, truth))).p_value)
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


# Second vote on stretched features, where the first is not sure

N_IMAGES, N_SEGMENTS, N_DIMS = 24, 12, 10


def make_animals(seed):
    """Features, labels, image ids, geometry and truth: animals that vary much, most of them on a lawn.

    One channel tells the animals of the two folders apart; the lawn is more common with the first, and all alike.
    """
    rng = np.random.default_rng(seed)
    positive = np.arange(N_IMAGES) < N_IMAGES // 2
    images = np.repeat(np.arange(N_IMAGES), N_SEGMENTS)
    place = np.tile(np.arange(N_SEGMENTS), N_IMAGES)
    is_animal = (place >= 4) & (place < 8)
    X = 0.9 * rng.normal(size=(len(images), N_DIMS))
    X[is_animal] += np.repeat(rng.normal(size=(N_IMAGES, N_DIMS)), N_SEGMENTS, axis=0)[is_animal]
    is_lawn = ~is_animal & (positive | (rng.random(N_IMAGES) < 0.6))[images]
    X[is_lawn] = 3 * np.eye(N_DIMS)[1] + 0.35 * rng.normal(size=(is_lawn.sum(), N_DIMS))
    X[is_animal, 0] = np.where(positive[images][is_animal], 1.2, -1.2) + 0.3 * rng.normal(size=is_animal.sum())
    ring = np.stack([np.arange(N_SEGMENTS), (np.arange(N_SEGMENTS) + 1) % N_SEGMENTS], axis=1)
    edges = (np.arange(N_IMAGES)[:, None, None] * N_SEGMENTS + ring[None]).reshape(-1, 2)
    geometry = Geometry(
        areas=np.full(len(images), 30.0),
        border=np.where((place < 2) | (place > 9), 5.0, 0.0),
        edges=edges,
        lengths=np.full(len(edges), 5.0),
        contrasts=np.where(is_animal[edges[:, 0]] != is_animal[edges[:, 1]], 20.0, rng.uniform(1, 4, len(edges))),
    )
    return X, positive[images], images, geometry, is_animal & positive[images]


def judge(scene, **params):
    table = tabulate(scene)
    return vote_and_judge(table, search_graph(table, 20), VoteParams(n_neighbors=20, **params))


@pytest.fixture(scope="module")
def animals():
    return make_animals(0)


@pytest.fixture(scope="module")
def judged(animals):
    return judge(animals)[0]


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_animals_on_a_lawn_are_found_by_the_second_vote(seed):
    scene = make_animals(seed)
    found, told = judge(scene)
    assert told.contradicted and found.walk_graph is not None
    assert measure_iou(found.selected, scene[4]) > 0.9


def test_the_first_vote_alone_takes_the_lawn(animals, judged):
    first = hold(animals, n_neighbors=20)
    assert measure_iou(first.selected, animals[4]) < 0.1
    assert is_overruled(first, judged) and not is_overruled(judged, first)


def test_a_vote_that_is_sure_is_not_held_twice(monkeypatch):
    monkeypatch.setattr(confidence, "search_stretched_graph", None)
    table = tabulate(make_scene())
    told = vote_and_judge(table, search_graph(table, 10), VoteParams(n_neighbors=10))[1]
    assert told.level == "high" and not told.contradicted


@pytest.mark.parametrize(("params", "most"), [({"allow_empty": True}, 50_000), ({}, 100)])
def test_large_tables_and_empty_images_have_one_vote(animals, monkeypatch, params, most):
    monkeypatch.setattr(confidence, "MOST_SEGMENTS", most)
    assert not judge(animals, **params)[1].contradicted


def test_corrections_go_on_with_the_vote_that_was_adopted(animals, judged):
    labels = np.full(len(animals[0]), -1)
    labels[np.flatnonzero(animals[4])[:2]] = 1
    refitted = refit_with_labels(judged, labels)
    assert refitted.walk_graph is judged.walk_graph
    assert measure_iou(correct(judged, labels).selected, animals[4]) > 0.9


def test_a_vote_is_judged_as_the_formula_says():
    _, y, images, geometry, _ = scene = make_animals(1)
    found = judge(scene)[0]
    M, areas, selections = found.graph.toarray(), geometry.areas * y, found.agreement.selections
    judged = []
    for index, chosen in enumerate(selections):
        s, rest = M @ chosen, y & ~chosen
        tops = [np.sort(s[images == image])[::-1] for image in np.unique(images[~y])]
        # The best twentieth of twelve equal segments is a part of the best one.
        without = np.mean([top[0] for top in tops])
        consistency = s[chosen].mean() * (1 - s[rest].mean()) * (1 - without)
        mutual = np.mean([measure_iou(chosen, other) for i, other in enumerate(selections) if i != index])
        i, j = geometry.edges.T
        crossed = y[i] & (chosen[i] != chosen[j])
        contrast = np.log(min(geometry.contrasts[crossed].mean() / geometry.contrasts[y[i]].mean(), 2))
        apart = 1 - np.average(found.connectivity[chosen], weights=areas[chosen])
        judged.append(consistency * mutual**0.5 + 0.2 * contrast + 0.3 * apart)
    assert judge_vote(found) == pytest.approx(max(judged))
