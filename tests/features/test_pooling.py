import numpy as np
import pytest

from segvote.features.pooling import POOLINGS, make_edges, measure_overlaps


def measure_slowly(labels, row_edges, column_edges):
    """Intersect every pixel's rectangle with every cell's, one by one."""
    height, width = labels.shape
    areas = np.zeros((labels.max() + 1, len(row_edges) - 1, len(column_edges) - 1))
    for y, x in np.ndindex(height, width):
        for i, j in np.ndindex(areas.shape[1:]):
            tall = min(y + 1, row_edges[i + 1] * height) - max(y, row_edges[i] * height)
            wide = min(x + 1, column_edges[j + 1] * width) - max(x, column_edges[j] * width)
            areas[labels[y, x], i, j] += max(tall, 0) * max(wide, 0)
    return areas.reshape(len(areas), -1)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("label_shape", [(7, 9), (12, 5), (1, 1)])
@pytest.mark.parametrize("map_shape", [(3, 4), (7, 9), (1, 1), (11, 20)])
@pytest.mark.parametrize("shift", [0.0, 0.4])
def test_overlaps_equal_the_areas_of_all_rectangles(label_shape, map_shape, shift, rng):
    labels = rng.integers(0, 5, label_shape)
    edges = [make_edges(n_cells, shift) for n_cells in map_shape]
    overlaps = measure_overlaps(labels, *edges)
    np.testing.assert_allclose(overlaps.toarray(), measure_slowly(labels, *edges), atol=1e-4)


@pytest.mark.parametrize(("pooling", "tolerance"), [("mean", 1e-5), ("max", 0)])
def test_pooling_is_that_of_the_enlarged_map(rng, pooling, tolerance):
    values = rng.normal(size=(6, 8, 3)).astype(np.float32)
    labels = np.unique(rng.integers(0, 200, (24, 32)), return_inverse=True)[1].reshape(24, 32)
    large = values.repeat(4, axis=0).repeat(4, axis=1)  # cells are whole pixels here
    expected = [getattr(large[labels == segment], pooling)(axis=0) for segment in range(labels.max() + 1)]
    pooled = POOLINGS[pooling](values.reshape(-1, 3), measure_overlaps(labels, make_edges(6), make_edges(8)))
    np.testing.assert_allclose(pooled, expected, rtol=0, atol=tolerance)
