"""The normalised cut: likeness along lines, and vectors that step where the boundary is."""

import numpy as np
import pytest

from segvote.segmentation import spectral
from segvote.segmentation.spectral import REACH, TOLERANCE, cut_softly, link_pixels, measure_steps


def link_pixels_slow(boundary):
    places = [tuple(place) for place in np.ndindex(boundary.shape)]
    likeness = np.zeros((len(places), len(places)))
    for i, (row, column) in enumerate(places):
        for j, (other_row, other_column) in enumerate(places[: i + 1]):
            down, right = row - other_row, column - other_column
            if down**2 + right**2 > REACH**2:
                continue
            n_steps = max(abs(down), abs(right), 1)
            fractions = np.linspace(0, 1, n_steps + 1) if i != j else [0]
            line = [(other_row + round(down * s), other_column + round(right * s)) for s in fractions]
            strongest = max(boundary[place] for place in line) if i != j else 0
            likeness[i, j] = likeness[j, i] = np.exp(-strongest / TOLERANCE)
    return likeness


def make_wall(shape=(20, 30), column=15):
    boundary = np.zeros(shape, np.float32)
    boundary[:, column] = 1
    return boundary


@pytest.mark.parametrize("shape", [(1, 1), (1, 8), (7, 1), (7, 9)], ids=str)
def test_likeness_equals_looking_along_every_line(shape):
    boundary = np.random.default_rng(0).random(shape).astype(np.float32)
    np.testing.assert_allclose(link_pixels(boundary).toarray(), link_pixels_slow(boundary), rtol=1e-5)


def test_decimation_does_not_move_the_wall(monkeypatch):
    whole = cut_softly(make_wall())
    monkeypatch.setattr(spectral, "SMALL_ENOUGH", 200)
    decimated = cut_softly(make_wall())
    likeness = np.corrcoef(whole[1][..., 0].ravel(), decimated[1][..., 0].ravel())[0, 1]
    assert abs(likeness) > 0.98


def test_steps_are_strongest_at_the_wall_and_across_it():
    steps = measure_steps(make_wall())
    assert abs(int(steps[0].sum(axis=0).argmax()) - 15) <= 1
    assert steps[:, 10, 15].argmax() == 0
