"""Evidence confidence equals diverse density written out."""

import numpy as np
import pytest

from segvote.voters.density.evidence import MISFILED, Evidence


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


def test_blocks_do_not_change_votes(planted, monkeypatch):
    whole = Evidence().fit(planted.X, planted.y, bags=planted.bags).scores_
    monkeypatch.setattr("segvote.voters.density.evidence.QUERIES_PER_BLOCK", 32)
    np.testing.assert_allclose(Evidence().fit(planted.X, planted.y, bags=planted.bags).scores_, whole, rtol=1e-4)


def test_a_bag_speaks_through_one_segment(planted):
    explained = Evidence().fit(planted.X, planted.y, bags=planted.bags).explain(0)
    assert len(explained.voters) == len(explained.bags) == 19
    assert 0 not in explained.bags
