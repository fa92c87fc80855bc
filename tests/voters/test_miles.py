"""MILES and MILIS: bags by their nearness to prototypes."""

import numpy as np
import pytest

from segvote.voters.miles import MILES, MILIS
from segvote.voters.prototypes import embed_bags, measure_kernel

VOTERS = [MILES, MILIS]


def test_a_bag_is_as_near_as_its_nearest_segment(small_bags, rng, monkeypatch):
    prototypes = rng.normal(size=(4, 3))
    expected = [
        [
            max(np.exp(-((x - t) ** 2).sum() / (2 * 1.3**2)) for x in small_bags.X[small_bags.codes == bag])
            for t in prototypes
        ]
        for bag in range(len(small_bags))
    ]
    np.testing.assert_allclose(embed_bags(small_bags, prototypes, 1.3), expected)
    # Blocks that end in the middle of a bag.
    monkeypatch.setattr("segvote.voters.prototypes.QUERIES_PER_BLOCK", 3)
    np.testing.assert_allclose(embed_bags(small_bags, prototypes, 1.3), expected)


@pytest.mark.parametrize("voter", VOTERS)
def test_prototypes_are_training_segments_and_their_votes_add_up(voter, planted):
    fitted = voter().fit(planted.X, planted.y, bags=planted.bags)
    np.testing.assert_array_equal(planted.X[fitted.prototypes_.rows], fitted.prototypes_.points)
    similarity = measure_kernel(planted.X[:5], fitted.prototypes_.points, 0.5 / fitted.bandwidth_**2)
    expected = similarity @ fitted.prototypes_.amounts + fitted.prototypes_.intercept
    np.testing.assert_allclose((fitted.scores_ + fitted.threshold_)[:5], expected)
