import numpy as np
import pytest
from segvote.method.likeness import ELSEWHERE, LEAST, WIDTH, Likeness


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 5)).astype(np.float32), np.repeat(np.arange(6), 10)


def measure_slowly(X, bags):
    """All pairs, in double precision, from the definition."""
    squared = ((X[:, None].astype(float) - X[None]) ** 2).sum(axis=2)
    other = bags[:, None] != bags
    typical = [np.sort(row[there])[9] for row, there in zip(squared, other, strict=True)]
    alike = np.exp(-squared / (WIDTH * np.median(typical))) * np.where(other, ELSEWHERE, 1.0)
    return np.where(alike >= LEAST, alike, 0)


def test_columns_are_those_of_the_definition(points):
    X, bags = points
    found = Likeness(X, bags).join(np.array([3, 17, 59])).toarray()
    np.testing.assert_allclose(found, measure_slowly(X, bags)[:, [3, 17, 59]], rtol=1e-4, atol=2 * LEAST * 1e-3)


def test_a_segment_is_like_itself(points):
    X, bags = points
    assert (Likeness(X, bags).join(np.arange(60)).diagonal() == 1).all()


def test_the_same_features_count_less_in_another_image():
    X = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
    X[20] = X[1] = X[0]
    column = Likeness(X, np.repeat([0, 1], 20)).join(np.array([0])).toarray()[:, 0]
    assert column[1] == pytest.approx(1, abs=1e-4) and column[20] == pytest.approx(ELSEWHERE, abs=1e-4)


def test_a_column_does_not_depend_on_what_else_is_asked(points):
    X, bags = points
    alone = Likeness(X, bags).join(np.array([7])).toarray()[:, 0]
    asked = Likeness(X, bags)
    asked.join(np.array([1, 2]))
    np.testing.assert_array_equal(asked.join(np.array([2, 7, 9])).toarray()[:, 1], alone)


def test_the_scale_of_the_features_does_not_matter(points):
    X, bags = points
    found, scaled = (Likeness(factor * X, bags).join(np.array([4])).toarray() for factor in (1, 8))
    np.testing.assert_allclose(found, scaled, rtol=1e-5)


def test_equal_segments_count_where_there_is_nothing_else():
    X = np.ones((30, 3), dtype=np.float32)
    column = Likeness(X, np.repeat([0, 1, 2], 10)).join(np.array([0])).toarray()[:, 0]
    assert (column[:10] == 1).all() and (column[10:] == ELSEWHERE).all()


def test_one_image_alone_is_no_error():
    column = Likeness(np.eye(4, dtype=np.float32), np.zeros(4, dtype=int)).join(np.array([2])).toarray()[:, 0]
    assert column.tolist() == [0, 0, 1, 0]


def test_nothing_asked_is_nothing_found(points):
    assert Likeness(*points).join(np.empty(0, dtype=int)).shape == (60, 0)
