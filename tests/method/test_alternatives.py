import numpy as np
import pytest
from made_tables import hold, make_scene, measure_iou

from segvote.method.alternatives import (
    MOST_ALTERNATIVES,
    find_better,
    find_seeds,
    find_specific,
    is_rivalled,
    list_alternatives,
    measure_likeness,
    score_support,
)


def make_two_objects(seed=0):
    """A scene in which *with* images share two things; the vote takes one, the other is returned as the truth."""
    X, y, images, geometry, first = make_scene(n_images=24, seed=seed)
    rng = np.random.default_rng(seed)
    second = np.zeros(len(X), dtype=bool)
    for image in np.unique(images[y]):
        second[rng.choice(np.flatnonzero((images == image) & ~first), 2, replace=False)] = True
    X[second] = np.eye(X.shape[1])[2] * 3 + 0.15 * rng.normal(size=(second.sum(), X.shape[1]))
    return (X, y, images, geometry, first), first, second


@pytest.fixture(scope="module")
def two():
    scene, first, second = make_two_objects()
    return hold(scene, n_neighbors=10), first, second


def test_each_thing_that_images_share_is_an_alternative(two):
    vote, first, second = two
    found = [one.selection.selected for one in list_alternatives(vote)]
    assert max(measure_iou(one, first) for one in found) > 0.8
    assert max(measure_iou(one, second) for one in found) > 0.7  # single segments, whose neighbours smooth them


def test_the_vote_comes_first_and_the_list_is_short_and_diverse(two):
    found = list_alternatives(two[0])
    assert found[0] is two[0] and len(found) <= MOST_ALTERNATIVES
    pairs = [(a, b) for i, a in enumerate(found) for b in found[:i]]
    assert all(measure_likeness(a, b) <= 0.7 for a, b in pairs)
    supports = [score_support(one) for one in found[1:]]
    assert supports == sorted(supports, reverse=True)


def test_the_list_is_the_same_again(two):
    for one, other in zip(list_alternatives(two[0]), list_alternatives(two[0]), strict=True):
        assert np.array_equal(one.selection.scores, other.selection.scores)


def test_seeds_are_one_segment_an_image(two):
    table = two[0].table
    for seeds in find_seeds(two[0].electorate):
        assert len(np.unique(table.images[seeds])) == len(seeds) and table.is_candidate[seeds].all()
        assert np.isin(seeds, find_specific(table, two[0].inputs.graph)).all()


def test_support_is_that_of_the_formula(two):
    vote = two[0]
    table, chosen, M = vote.table, vote.selection.selected, vote.inputs.graph.toarray()
    y, s, a = table.is_candidate, M @ vote.selection.selected, table.areas
    inside, rest = np.average(s[chosen], weights=a[chosen]), np.average(s[y & ~chosen], weights=a[y & ~chosen])
    tops = []
    for image in np.flatnonzero(~table.positive):
        own, left, total = np.flatnonzero(table.images == image), 0.05, 0.0
        for segment in own[np.argsort(-s[own], kind="stable")]:
            taken = min(left, a[segment] / a[own].sum())
            total, left = total + taken * s[segment], left - taken
        tops.append(total / 0.05)
    without = np.mean(tops)
    shown = np.mean([vote.selection.scores[table.images == i].max() > 0 for i in np.flatnonzero(table.positive)])
    i, j = table.edges.T
    known, crossed = y[i], y[i] & (chosen[i] != chosen[j])
    contrast = np.average(table.contrasts[crossed], weights=table.lengths[crossed])
    contrast /= np.average(table.contrasts[known], weights=table.lengths[known])
    expected = inside * (1 - rest) * (1 - without) * shown * np.clip(contrast, 0.1, 2) ** 0.5
    assert score_support(vote) == pytest.approx(expected, rel=1e-6)


def test_a_doubtful_vote_gives_way_to_a_better_supported_one(two):
    alternatives = list_alternatives(two[0])
    worst = min(alternatives, key=score_support)
    turned = [worst, *(one for one in alternatives if one is not worst)]
    best = max(turned, key=score_support)
    assert find_better(turned, confidence=0.2) is (best if score_support(best) > 1.15 * score_support(worst) else worst)
    assert find_better(turned, confidence=0.9) is worst


def test_a_better_supported_thing_elsewhere_is_a_rival(two):
    alternatives = list_alternatives(two[0])
    worst = min(alternatives, key=score_support)
    assert is_rivalled([worst, *(one for one in alternatives if measure_likeness(one, worst) < 0.2)])
    assert not is_rivalled([worst])
