import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_recall_curve

from segvote.errors import BadInputError
from segvote.metrics import average_precision, precision_recall


def make_ranking(seed, n=200, n_levels=20):
    """Scores with many ties, truth of both kinds, weights of which some are zero."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.3
    scores = np.round((rng.random(n) + truth) * n_levels) / n_levels
    return scores, truth, rng.integers(0, 50, n).astype(float)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_levels", [1, 5, 10**6])
def test_average_precision_equals_that_of_sklearn(seed, n_levels):
    scores, truth, weights = make_ranking(seed, n_levels=n_levels)
    assert average_precision(scores, truth) == pytest.approx(average_precision_score(truth, scores))
    expected = average_precision_score(truth, scores, sample_weight=weights)
    assert average_precision(scores, truth, weights) == pytest.approx(expected)


def test_curve_equals_that_of_sklearn():
    scores, truth, weights = make_ranking(3)
    precision, recall, thresholds = precision_recall(scores, truth, weights + 1)
    expected = precision_recall_curve(truth, scores, sample_weight=weights + 1)
    np.testing.assert_allclose(precision[::-1], expected[0][:-1])
    np.testing.assert_allclose(recall[::-1], expected[1][:-1])
    np.testing.assert_array_equal(thresholds[::-1], expected[2])


def test_parts_of_segments_with_areas_give_the_pixels_ranking():
    scores, areas, parts = np.array([3.0, 2.0, 2.0, 1.0]), np.array([4, 10, 2, 8]), np.array([0.75, 0.5, 0, 0.25])
    n_object = (areas * parts).astype(int)
    pixel_scores = np.repeat(scores, areas)
    pixel_truth = np.concatenate([np.arange(area) < n for area, n in zip(areas, n_object, strict=True)])
    assert average_precision(scores, parts, areas) == pytest.approx(average_precision(pixel_scores, pixel_truth))


def test_no_object_gives_zero_precision():
    assert average_precision([1, 2], [0, 0]) == 0.0


@pytest.mark.parametrize(
    ("scores", "truth", "weights"),
    [([], [], None), ([1], [1, 0], None), ([np.nan], [1], None), ([1], [2], None), ([1], [1], [-1])],
)
def test_bad_input_is_an_error(scores, truth, weights):
    with pytest.raises(BadInputError):
        average_precision(scores, truth, weights)
