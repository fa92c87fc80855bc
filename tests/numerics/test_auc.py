"""The area under the ROC curve is the share of pairs in the right order."""

import numpy as np
import pytest

from segvote.numerics.auc import measure_auc


@pytest.mark.parametrize("n_values", [2, 7, 50])
def test_ranks_give_the_share_of_ordered_pairs(n_values):
    rng = np.random.default_rng(0)
    values, positive = rng.integers(0, 9, n_values).astype(float), np.arange(n_values) % 2 == 0
    gaps = values[positive][:, None] - values[~positive]
    assert measure_auc(values, positive) == pytest.approx(((gaps > 0) + 0.5 * (gaps == 0)).mean(), abs=1e-12)


def test_separated_values_have_an_area_of_one():
    assert measure_auc(np.array([0.1, 0.2, 0.8, 0.9]), np.array([False, False, True, True])) == 1.0
    assert measure_auc(np.array([0.5, 0.5]), np.array([True, False])) == 0.5
