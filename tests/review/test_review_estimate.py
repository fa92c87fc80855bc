import numpy as np
import pytest
from scipy.stats import t

from segvote.review.finishing import estimate_rest


def test_two_accepted_masks_say_nothing():
    assert estimate_rest([1.0, 0.5]) is None


@pytest.mark.parametrize("n_accepted", [3, 11, 31])
def test_the_interval_is_that_of_student(n_accepted):
    overlaps = np.random.default_rng(0).uniform(0.6, 0.9, n_accepted)
    low, high = t.interval(0.95, n_accepted - 1, overlaps.mean(), overlaps.std(ddof=1) / np.sqrt(n_accepted))
    found = estimate_rest(overlaps.tolist())
    assert found["mean"] == pytest.approx(overlaps.mean())
    assert (found["low"], found["high"]) == pytest.approx((low, high), rel=1e-9)


def test_untouched_masks_are_counted():
    found = estimate_rest([1.0, 1.0, 0.2])
    assert (found["nAccepted"], found["nUntouched"]) == (3, 2)
    assert found["low"] == 0.0 and found["high"] == 1.0
