"""A second vote on stretched features, where the first is not sure: held, judged and seldom adopted."""

import numpy as np
import pytest
from made_tables import hold, make_scene, measure_iou, tabulate

from segvote.method import Geometry, VoteParams, second_opinion
from segvote.method.corrections import correct, refit_with_labels
from segvote.method.graph import search_graph, search_stretched_graph
from segvote.method.second_opinion import is_overruled, judge_vote, vote_and_judge
from segvote.method.vote import vote

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
    return judge(animals)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_animals_on_a_lawn_are_found_by_the_second_vote(seed):
    scene = make_animals(seed)
    found = judge(scene)
    assert found.confidence.contradicted and found.vote.walk_graph is not None
    assert measure_iou(found.vote.selected, scene[4]) > 0.9


def test_the_first_vote_alone_takes_the_lawn(animals, judged):
    first = hold(animals, n_neighbors=20)
    assert measure_iou(first.selected, animals[4]) < 0.1
    assert is_overruled(first, judged.vote) and not is_overruled(judged.vote, first)


def test_a_second_vote_is_the_vote_over_the_stretched_graph(judged):
    table, graph = judged.vote.table, judged.vote.graph
    stretched = search_stretched_graph(table, 20)
    expected = vote(table, graph, judged.vote.params, walk_graph=stretched)
    assert np.array_equal(judged.vote.scores, expected.scores)


def test_a_vote_that_is_sure_is_not_held_twice(monkeypatch):
    monkeypatch.setattr(second_opinion, "search_stretched_graph", None)
    table = tabulate(make_scene())
    found = vote_and_judge(table, search_graph(table, 10), VoteParams(n_neighbors=10))
    assert found.confidence.level == "high" and not found.confidence.contradicted


def test_where_images_may_be_empty_there_is_one_vote(animals):
    assert not judge(animals, allow_empty=True).confidence.contradicted


def test_large_tables_are_voted_on_once(animals, monkeypatch):
    monkeypatch.setattr(second_opinion, "MOST_SEGMENTS", 100)
    assert not judge(animals).confidence.contradicted


def test_corrections_go_on_with_the_vote_that_was_adopted(animals, judged):
    labels = np.full(len(animals[0]), -1)
    labels[np.flatnonzero(animals[4])[:2]] = 1
    refitted = refit_with_labels(judged.vote, labels)
    assert refitted.walk_graph is judged.vote.walk_graph
    assert measure_iou(correct(judged.vote, labels).selected, animals[4]) > 0.9


def test_a_vote_is_judged_as_the_formula_says():
    _, y, images, geometry, _ = scene = make_animals(1)
    found = judge(scene).vote
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
