import numpy as np
import pytest

from segvote.numerics.clusters import learn_centres
from segvote.numerics.representatives import assign_points, choose_representatives


def choose_plainly(points, n_chosen):
    """One point at a time, distances as they are written."""
    centres = learn_centres(points, n_chosen)
    distances = [[sum((float(a) - float(b)) ** 2 for a, b in zip(p, c, strict=True)) for c in centres] for p in points]
    own = [min(range(n_chosen), key=lambda c, row=row: row[c]) for row in distances]
    mean = sum(row[nearest] for row, nearest in zip(distances, own, strict=True)) / len(own)
    distances = [[round(one / mean, 4) for one in row] for row in distances]
    chosen = []
    for centre in range(n_chosen):
        members = [number for number, nearest in enumerate(own) if nearest == centre]
        if members:
            chosen.append(min(members, key=lambda number, c=centre: (distances[number][c], number)))
    left = sorted(set(range(len(points))) - set(chosen), key=lambda number: (-distances[number][own[number]], number))
    return sorted(chosen + left[: n_chosen - len(chosen)])


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)


@pytest.mark.parametrize("n_chosen", [1, 2, 7, 20, 39])
def test_the_choice_is_that_of_a_plain_loop(points, n_chosen):
    assert choose_representatives(points, n_chosen).tolist() == choose_plainly(points, n_chosen)


def test_each_of_two_distant_groups_has_a_representative():
    groups = np.repeat([0, 1], [4, 28])
    points = np.random.default_rng(0).normal(scale=0.01, size=(32, 2)) + groups[:, None] * 10
    assert groups[choose_representatives(points.astype(np.float32), 2)].tolist() == [0, 1]


def test_equal_points_give_as_many_as_asked():
    assert len(set(choose_representatives(np.zeros((9, 3), np.float32), 4).tolist())) == 4


def test_no_more_than_there_are(points):
    assert choose_representatives(points, 41).tolist() == list(range(40))
    assert choose_representatives(np.empty((0, 3), np.float32), 2).tolist() == []


def test_a_point_belongs_to_its_nearest_centre(points):
    nearest, squared = assign_points(points, points[:3])
    distances = ((points[:, None] - points[None, :3]) ** 2).sum(axis=2)
    assert nearest.tolist() == distances.argmin(axis=1).tolist()
    assert squared == pytest.approx(distances.min(axis=1), abs=1e-4)
