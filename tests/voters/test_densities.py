"""Class densities, their hills, and evidence confidence: against the plain formulas."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from segvote.voters.densities import MISFILED, SKDE, TINY, Evidence, measure_shift, shift_to_modes


def measure_slow(planted, segment, bandwidth):
    other = planted.bags != planted.bags[segment]
    kernels = np.exp(-((planted.X - planted.X[segment]) ** 2).sum(axis=1) / (2 * bandwidth**2)) * other
    with_, without = planted.y == 1, planted.y == 0
    return kernels[with_].sum() / with_.sum() - kernels[without].sum() / without.sum()


def _shift(points, voters, amounts, bandwidth):
    """The formula: f at the points and the mean shift there."""
    kernels = np.exp(-0.5 * cdist(points, voters, "sqeuclidean") / bandwidth**2)
    height = kernels @ amounts
    pull = (kernels * amounts) @ voters - height[:, None] * points
    return height, pull / np.maximum(kernels @ np.abs(amounts), TINY)[:, None]


def test_a_climb_measures_what_the_formula_says(planted, rng):
    amounts = rng.normal(size=len(planted.X))
    heights, moves = _shift(planted.X[:7], planted.X, amounts, 1.5)
    found = measure_shift(planted.X[:7], planted.X, amounts, 1.5)
    np.testing.assert_allclose(found[0], heights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[1], moves, rtol=1e-9, atol=1e-9)


def test_votes_are_the_difference_of_densities(planted):
    fitted = SKDE(bandwidth=1.2).fit(planted.X, planted.y, bags=planted.bags)
    votes = fitted.scores_ + fitted.threshold_
    for segment in (0, 5, 150, 239):
        assert votes[segment] == pytest.approx(measure_slow(planted, segment, 1.2), rel=1e-4, abs=1e-8)


def test_climbing_never_descends_and_ends_on_a_hill(planted):
    amounts = np.where(planted.y == 1, 1.0, -1.0) / 120
    starts = planted.X[planted.y == 1][:20]
    ends, _ = shift_to_modes(starts, planted.X, amounts, 1.5)
    before, _ = _shift(starts, planted.X, amounts, 1.5)
    after, move = _shift(ends, planted.X, amounts, 1.5)
    assert (after >= before).all()
    top = np.argmax(after)
    assert np.linalg.norm(move[top]) < 0.01


def measure_evidence_slow(planted, segment, bandwidth):
    kernels = np.exp(-((planted.X - planted.X[segment]) ** 2).sum(axis=1) / (2 * bandwidth**2))
    totals, counted = {0: 0.0, 1: 0.0}, {0: 0, 1: 0}
    for bag in np.unique(planted.bags):
        if bag == planted.bags[segment]:
            continue
        members = planted.bags == bag
        label = int(planted.y[members][0])
        none = np.prod(1 - kernels[members])
        totals[label] += np.log(MISFILED + (1 - MISFILED) * (1 - none)) if label else np.log(none)
        counted[label] += 1
    return sum(totals[label] * 10 / counted[label] for label in (0, 1))


def test_votes_are_the_formula_with_the_own_bag_left_out(planted):
    fitted = Evidence(bandwidth=1.5).fit(planted.X, planted.y, bags=planted.bags)
    votes = fitted.scores_ + fitted.threshold_
    for segment in (0, 7, 130, 239):
        assert votes[segment] == pytest.approx(measure_evidence_slow(planted, segment, 1.5), rel=1e-4)
