"""Where the first vote is not sure, neighbours by what tells the folders apart are asked, and seldom adopted."""

import numpy as np
import pytest
from made_tables import make_scene

from segvote.method import Geometry, SegmentAnnotator
from segvote.method import annotator as annotator_module
from segvote.method.second_opinion import stretch

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


def fit(scene, **parameters):
    X, y, images, geometry, _ = scene
    return SegmentAnnotator(n_neighbors=20, **parameters).fit(X, y, images=images, geometry=geometry)


def measure_iou(one, other):
    return (one & other).sum() / (one | other).sum()


@pytest.fixture
def none_is_adopted(monkeypatch):
    monkeypatch.setattr(annotator_module, "MARGIN", np.inf)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_animals_on_a_lawn_are_found_by_the_second_opinion(seed):
    scene = make_animals(seed)
    annotator = fit(scene)
    assert annotator.is_second_opinion
    assert measure_iou(annotator.result_.selected, scene[4]) > 0.9


@pytest.mark.usefixtures("none_is_adopted")
def test_the_first_opinion_alone_takes_the_lawn():
    scene = make_animals(0)
    annotator = fit(scene)
    assert not annotator.is_second_opinion
    assert measure_iou(annotator.result_.selected, scene[4]) < 0.1


def test_a_second_opinion_is_never_called_high():
    confidence = fit(make_animals(0)).confidence_
    assert confidence.level != "high"
    assert "different things" in confidence.reason


def test_a_vote_that_is_sure_is_not_asked_twice(monkeypatch):
    def refuse(*given):
        raise AssertionError("asked for a second opinion")

    monkeypatch.setattr(annotator_module, "build_stretched_graph", refuse)
    X, y, images, geometry, _ = make_scene()
    annotator = SegmentAnnotator(n_neighbors=10).fit(X, y, images=images, geometry=geometry)
    assert annotator.confidence_.level == "high"


def test_a_vote_with_corrections_goes_on_with_the_opinion_that_was_adopted():
    scene = make_animals(0)
    annotator = fit(scene)
    labels = np.full(len(scene[0]), -1)
    labels[np.flatnonzero(scene[4])[:2]] = 1
    taught = annotator.teach(labels)
    assert taught.is_second_opinion
    assert measure_iou(taught.correct(labels).selected, scene[4]) > 0.9


@pytest.mark.parametrize("seed", [0, 1])
def test_another_object_on_the_same_segments_is_found_as_by_a_fit(seed):
    X, y, images, geometry, _ = make_animals(seed)
    annotator = fit((X, y, images, geometry, None))
    fresh = fit((X, ~y, images, geometry, None))
    again = annotator.refit(~y[::N_SEGMENTS])
    assert again.is_second_opinion == fresh.is_second_opinion
    assert np.array_equal(again.result_.scores, fresh.result_.scores)
    assert np.array_equal(again.result_.selected, fresh.result_.selected)


def test_where_images_may_be_without_the_object_there_is_one_opinion():
    assert not fit(make_animals(0), allow_empty=True).is_second_opinion


def test_stretched_features_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    X, direction = rng.normal(size=(7, 5)), rng.normal(size=5)
    direction /= np.linalg.norm(direction)
    expected = np.array([x + 3 * (direction @ x) * direction for x in X])
    assert np.allclose(stretch(X, direction, 4.0), expected)
    assert np.array_equal(stretch(X, direction, 1.0), X)
    assert np.array_equal(stretch(X, np.zeros(5), 4.0), X)


def test_an_opinion_is_judged_as_the_formula_says():
    X, y, images, geometry, _ = make_animals(1)
    annotator = fit((X, y, images, geometry, None))
    M, areas, selections = annotator.graph_.toarray(), geometry.areas * y, annotator.agreement_.selections
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
        contrast = np.log(geometry.contrasts[crossed].mean() / geometry.contrasts[y[i]].mean())
        apart = 1 - np.average(annotator._connectivity[chosen], weights=areas[chosen])
        judged.append(consistency * mutual**0.5 + 0.2 * contrast + 0.3 * apart)
    assert annotator._judge() == pytest.approx(max(judged))
