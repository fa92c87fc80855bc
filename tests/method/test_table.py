"""The table of segments: sums and means against loops, and what it rejects."""

from dataclasses import fields

import numpy as np
import pytest
from made_tables import make_scene, tabulate

from segvote.errors import BadInputError
from segvote.method.table import LABEL_FREE, Geometry, make_table


@pytest.fixture(scope="module")
def table():
    return tabulate(make_scene(n_images=6, n_segments=7))


@pytest.fixture
def scores(table):
    return np.random.default_rng(1).normal(size=len(table))


def test_sums_and_best_scores_are_those_of_a_loop(table, scores):
    each = [scores[table.images == image] for image in range(6)]
    assert np.allclose(table.sum_by_image(scores), [one.sum() for one in each])
    assert np.array_equal(table.max_by_image(scores), [one.max() for one in each])


@pytest.mark.parametrize("share", [0.02, 0.3, 1.0])
def test_the_top_of_an_image_is_that_of_a_loop(table, scores, share):
    slow = []
    for image in range(6):
        own = np.flatnonzero(table.images == image)
        left, total = share, 0.0
        for segment in own[np.argsort(-scores[own])]:
            taken = min(left, table.shares[segment])
            left, total = left - taken, total + taken * scores[segment]
        slow.append(total / share)
    assert np.allclose(table.measure_top(scores, share), slow)


def test_smoothing_is_the_mean_of_adjacent_segments(table, scores):
    slow = scores.copy()
    for segment in range(len(table)):
        weights, values = [], []
        for (i, j), length, contrast in zip(table.edges, table.lengths, table.contrasts, strict=True):
            if segment in (i, j):
                weights.append(length * np.exp(-(contrast**2) / 200))
                values.append(scores[j if segment == i else i])
        slow[segment] = 0.6 * scores[segment] + 0.4 * np.average(values, weights=weights)
    assert np.allclose(table.smooth(scores, 0.4), slow)
    assert np.array_equal(table.smooth(scores, 0.0), scores)


def test_what_geometry_leaves_out_has_defaults():
    table = make_table(np.zeros((4, 1)), np.array([True, False]), np.array([0, 0, 1, 1]))
    assert table.image_bags.tolist() == [0, 1] and table.areas.tolist() == [1, 1, 1, 1]
    assert not table.border.any() and table.prior.all() and np.isnan(table.centres).all()
    assert len(table.edges) == len(table.lengths) == len(table.contrasts) == 0
    assert {one.name for one in fields(Geometry)} < {one.name for one in fields(table)}


N = 40


@pytest.mark.parametrize(
    ("geometry", "message"),
    [
        (Geometry(areas=np.ones(3)), r"areas of shape \(40,\)"),
        (Geometry(areas=np.zeros(N)), "above 0"),
        (Geometry(areas=np.full(N, np.nan)), "above 0"),
        (Geometry(edges=np.array([[0, N]])), "0 to 39"),
        (Geometry(edges=np.array([[-1, 0]])), "0 to 39"),
        (Geometry(edges=np.array([[0, 20]])), "one image"),
        (Geometry(edges=np.array([[0, 1]]), lengths=np.ones(2)), r"lengths of shape \(1,\)"),
        (Geometry(prior=np.full(N, 2.0)), r"in \[0, 1\]"),
        (Geometry(centres=np.zeros(N)), r"centres of shape \(40, 2\)"),
    ],
)
def test_bad_geometry_is_rejected(geometry, message):
    with pytest.raises(BadInputError, match=message):
        make_table(np.zeros((N, 2)), np.array([True, False]), np.repeat([0, 1], 20), geometry)


@pytest.mark.parametrize("images", [[1, 1, 0, 0], [0, 0, 2, 2], [1, 1, 2, 2], [0, 1, 0, 1]])
def test_images_out_of_order_are_rejected(images):
    with pytest.raises(BadInputError, match="ascending"):
        make_table(np.zeros((4, 1)), np.array([True, False]), np.array(images))


@pytest.mark.parametrize(("value", "kind"), [(True, "with"), (False, "without")])
def test_one_folder_alone_is_rejected(value, kind):
    with pytest.raises(BadInputError, match=rf"all 2 are \*{kind}\* images"):
        make_table(np.zeros((2, 1)), np.array([value, value]), np.array([0, 1]))


def test_other_labels_keep_what_depends_on_none():
    table = tabulate(make_scene())
    known = {name: getattr(table, name) for name in LABEL_FREE}
    other = table.relabel_images(~table.positive)
    assert all(vars(other)[name] is value for name, value in known.items())
    assert (other.is_candidate == ~table.is_candidate).all()
