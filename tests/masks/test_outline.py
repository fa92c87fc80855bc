"""Outlines at the resolution of the photograph: the fit against plain regression, and shapes with known outlines."""

import numpy as np
import pytest

from segvote.masks.outline import NEARBY, NOISE, REACH, fit_colours, measure_signed_distance, refine_outline
from segvote.numerics.pixels import convert_to_lab, resize_labels


def make_disc(side, radius):
    y, x = np.mgrid[:side, :side] - (side - 1) / 2
    return np.hypot(x, y) < radius


def make_picture(mask, noise=6):
    rng = np.random.default_rng(0)
    colours = np.where(mask[..., None], (180, 60, 50), (70, 110, 160)) + rng.normal(0, noise, (*mask.shape, 3))
    return convert_to_lab(colours.clip(0, 255).astype(np.uint8))


def test_outline_follows_the_photograph_not_the_coarse_pixels():
    truth = make_disc(400, 120.0)
    coarse = resize_labels(make_disc(400, 125.0), (100, 100))
    found = refine_outline(make_picture(truth), coarse)
    enlarged = resize_labels(coarse, (400, 400))
    assert (found != truth).sum() < 0.2 * (enlarged != truth).sum()


def test_pixels_outside_of_the_band_keep_the_coarse_decision():
    coarse = make_disc(100, 30.0)
    found = refine_outline(make_picture(make_disc(400, 60.0)), coarse)
    far = np.abs(measure_signed_distance(coarse)) > REACH + 1
    far = resize_labels(far, (400, 400))
    assert np.array_equal(found[far], resize_labels(coarse, (400, 400))[far])


@pytest.mark.parametrize("value", [True, False])
def test_full_and_empty_masks_stay(value):
    coarse = np.full((30, 40), value)
    assert (refine_outline(make_picture(np.zeros((60, 80), bool)), coarse) == value).all()


@pytest.mark.parametrize("place", [(20, 20), (20, 31), (33, 24)])
def test_fit_is_weighted_ridge_regression(place):
    rng = np.random.default_rng(0)
    lab, mask = rng.normal(50, 10, (48, 48, 3)).astype(np.float32), make_disc(48, 12.0)
    y, x = np.mgrid[:48, :48]
    weights = np.exp(-((y - place[0]) ** 2 + (x - place[1]) ** 2) / (2 * NEARBY**2)).ravel()
    weights /= weights.sum()
    colours = lab.reshape(-1, 3) - weights @ lab.reshape(-1, 3)
    mean = weights @ mask.ravel()
    covariance = (colours * weights[:, None]).T @ colours + NOISE * np.eye(3)
    slopes = np.linalg.solve(covariance, colours.T @ (weights * (mask.ravel() - mean)))
    intercept = mean - slopes @ (weights @ lab.reshape(-1, 3))
    found = fit_colours(lab, mask, np.ones((48, 48), dtype=bool))[place]
    assert found == pytest.approx([*slopes, intercept], abs=2e-3)


def test_outline_stays_where_colours_do_not_differ():
    coarse = make_disc(100, 30.0)
    lab = make_picture(np.zeros((400, 400), dtype=bool), noise=1)
    assert (refine_outline(lab, coarse) != resize_labels(coarse, (400, 400))).sum() < 0.02 * 16 * coarse.sum()
