"""Maps of activation against their formulas."""

import numpy as np

from segvote.voters.activation import ActivationMask, AggregationMap


def test_the_aggregation_map_sums_rises_above_negatives(planted):
    fitted = AggregationMap().fit(planted.X, planted.y, bags=planted.bags)
    expected = np.maximum(planted.X - planted.X[planted.y == 0].mean(axis=0), 0).sum(axis=1)
    np.testing.assert_allclose(fitted.scores_, expected - expected[planted.y == 1].mean())


def test_every_layer_has_the_same_say(planted):
    fitted = ActivationMask(blocks=(2, 4)).fit(planted.X, planted.y, bags=planted.bags)
    rise = np.maximum(planted.X - planted.X[planted.y == 0].mean(axis=0), 0)
    layers = np.column_stack([rise[:, :2].mean(axis=1), rise[:, 2:].mean(axis=1)])
    expected = layers.mean(axis=1)
    np.testing.assert_allclose(fitted.scores_, expected - expected[planted.y == 1].mean())
