"""The second vote on stretched features, where the first is not sure."""

import numpy as np
import pytest
from made_tables import hold, make_scene, measure_iou, tabulate

from segvote.method import second_vote
from segvote.method.correct import correct_vote
from segvote.method.graph import search_graph
from segvote.method.hypotheses import VoteParams
from segvote.method.second_vote import is_overruled, score_vote, search_stretched_graph
from segvote.method.table import Geometry
from segvote.method.whole_vote import vote_and_judge

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
    alternatives, confidence = vote_and_judge(table, search_graph(table, 20), VoteParams(n_neighbors=20, **params))
    return alternatives[0], confidence


@pytest.fixture(scope="module")
def animals():
    return make_animals(0)


@pytest.fixture(scope="module")
def judged(animals):
    return judge(animals)[0]


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_animals_on_a_lawn_are_found_by_the_second_vote(seed):
    scene = make_animals(seed)
    vote, confidence = judge(scene)
    assert confidence.contradicted and vote.inputs.walk_graph is not vote.inputs.graph
    assert measure_iou(vote.selection.selected, scene[4]) > 0.9


def test_the_first_vote_alone_takes_the_lawn(animals, judged):
    first = hold(animals, n_neighbors=20)
    assert measure_iou(first.selection.selected, animals[4]) < 0.1
    assert is_overruled(first, judged) and not is_overruled(judged, first)


def test_a_vote_that_is_sure_is_not_held_twice(monkeypatch):
    monkeypatch.setattr(second_vote, "search_stretched_graph", None)
    table = tabulate(make_scene())
    confidence = vote_and_judge(table, search_graph(table, 10), VoteParams(n_neighbors=10))[1]
    assert confidence.level == "high" and not confidence.contradicted


@pytest.mark.parametrize(("params", "most"), [({"allow_empty": True}, 50_000), ({}, 100)])
def test_large_tables_and_empty_images_have_one_vote(animals, monkeypatch, params, most):
    monkeypatch.setattr(second_vote, "MOST_SEGMENTS", most)
    assert not judge(animals, **params)[1].contradicted


def test_a_settled_first_vote_is_not_held_twice(animals, monkeypatch):
    first = hold(animals, n_neighbors=20)
    monkeypatch.setattr(second_vote, "SETTLED", score_vote(first) + 1e-9)
    assert judge(animals)[1].contradicted
    monkeypatch.setattr(second_vote, "SETTLED", score_vote(first) - 1e-9)
    monkeypatch.setattr(second_vote, "search_stretched_graph", None)
    assert not judge(animals)[1].contradicted


def test_corrections_go_on_with_the_vote_that_was_adopted(animals, judged):
    labels = np.full(len(animals[0]), -1)
    labels[np.flatnonzero(animals[4])[:2]] = 1
    refitted, correction = correct_vote(judged, labels)
    assert refitted.inputs is judged.inputs
    assert measure_iou(correction.selection.selected, animals[4]) > 0.9


def test_a_vote_is_scored_as_the_formula_says():
    _, y, images, geometry, _ = scene = make_animals(1)
    vote = judge(scene)[0]
    M, areas, selections = vote.inputs.graph.toarray(), geometry.areas * y, vote.diagnostics.hypotheses.selections
    scores = []
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
        apart = 1 - np.average(vote.inputs.connectivity[chosen], weights=areas[chosen])
        scores.append(consistency * mutual**0.5 + 0.2 * contrast + 0.3 * apart)
    assert score_vote(vote) == pytest.approx(max(scores))


def test_stretched_neighbours_share_the_folder_more_often():
    rng = np.random.default_rng(0)
    X, y, images, geometry, truth = make_scene()
    X = rng.normal(size=X.shape)
    X[:, 0] += 2 * y  # the folders differ by this alone
    table = tabulate((X, y, images, geometry, truth))
    graphs = search_graph(table), search_stretched_graph(table)
    plain, stretched = ((graph.toarray() * (y[:, None] == y)).sum() for graph in graphs)
    assert stretched > plain
