"""DD, EM-DD and GEM-DD find the concept they were given."""

from dataclasses import replace

import numpy as np
import pytest

from segvote.voters.mil.concepts import BagLoss, Concept
from segvote.voters.mil.diverse_density import DiverseDensity, EMDiverseDensity, GEMDiverseDensity
from segvote.voters.mil.learning_bags import group_bags
from segvote.voters.segments import check_segments

VOTERS = [DiverseDensity, EMDiverseDensity, GEMDiverseDensity]


@pytest.mark.parametrize("voter", VOTERS)
def test_the_concept_lies_at_the_planted_object(voter, planted):
    fitted = voter(n_starts=3).fit(planted.X, planted.y, bags=planted.bags)
    found = fitted.concept_.point * fitted._standard.spread + fitted._standard.centre
    centre = planted.X[planted.truth].mean(axis=0)
    spread = fitted._standard.spread
    # Along features the concept does not look at, its point is free.
    looks = fitted.concept_.scale
    assert np.average(np.abs(found - centre) / spread, weights=looks) < 0.5


@pytest.mark.parametrize("voter", VOTERS)
def test_the_vote_is_the_logarithm_of_the_probability(voter, planted):
    fitted = voter(n_starts=2).fit(planted.X, planted.y, bags=planted.bags)
    scaled = (planted.X - fitted._standard.centre) / fitted._standard.spread
    concept = fitted.concept_
    expected = [-np.sum(concept.scale**2 * (x - concept.point) ** 2) for x in scaled]
    np.testing.assert_allclose(fitted.scores_ + fitted.threshold_, expected)
    np.testing.assert_allclose(fitted.predict_proba(planted.X)[:, 1], np.exp(expected), atol=1e-12)


def test_every_bag_counts_in_the_e_step_the_last_one_too(planted):
    segments = check_segments(planted.X, planted.y == 1, planted.bags, None, None)
    bags = group_bags(segments)
    concept = Concept(bags.X[-1], np.ones(bags.X.shape[1]), 0.0)
    chosen = EMDiverseDensity()._choose(concept, bags)
    assert len(chosen.X) == len(bags)
    squares = ((bags.X - concept.point) ** 2).sum(axis=1)
    for bag in range(len(bags)):
        assert ((chosen.X[bag] - concept.point) ** 2).sum() == pytest.approx(squares[bags.codes == bag].min())


def test_shares_of_a_bag_add_up_to_one(small_bags):
    shares = GEMDiverseDensity()._share(Concept(np.zeros(3), np.ones(3), 0.0), small_bags)
    np.testing.assert_allclose(small_bags.sum(shares), 1)


def test_em_dd_ends_no_worse_than_the_first_e_step(planted):
    segments = check_segments(planted.X, planted.y == 1, planted.bags, None, None)
    bags = group_bags(segments)
    bags = replace(bags, X=(bags.X - bags.X.mean(axis=0)) / bags.X.std(axis=0))
    theta = np.concatenate([bags.X[0], np.full(bags.X.shape[1], 0.4)])
    voter = EMDiverseDensity()
    first = BagLoss(voter._choose(Concept.read(theta, 0.0), bags))(theta)[0]
    assert voter._climb_from(theta, bags).loss <= first
