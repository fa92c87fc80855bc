"""Quadratic voters refuse what would take for ever, and name one that would not; or estimate, and say how well."""

import inspect

import numpy as np
import pytest

from segvote.errors import TooLargeError
from segvote.kernels import sampled
from segvote.voters import VOTERS

QUADRATIC = [name for name in VOTERS if "max_pairs" in inspect.signature(VOTERS[name]).parameters]


def test_the_voters_with_a_limit_are_those_that_look_at_all_pairs():
    assert QUADRATIC == ["crane", "ekde-paper", "evidence", "f-neg", "negative-weighted", "skde"]


# Sums over segments can be estimated; the others are no sums.
ESTIMATED = ["ekde-paper", "f-neg"]


@pytest.mark.parametrize("name", [name for name in QUADRATIC if name not in ESTIMATED])
def test_too_many_pairs_are_refused_with_another_voter_named(name, planted):
    with pytest.raises(TooLargeError, match=r"at most 1e\+01; got .*Use voter ekde"):
        VOTERS[name](max_pairs=10).fit(planted.X, planted.y, bags=planted.bags)


@pytest.mark.parametrize("name", ESTIMATED)
def test_sums_of_too_many_pairs_are_estimated_and_their_error_is_told(name, planted, monkeypatch):
    monkeypatch.setattr(sampled, "N_NEAR", 8)
    monkeypatch.setattr(sampled, "_choose_size", lambda n_queries: 100)
    exact, estimated = (
        VOTERS[name](**more).fit(planted.X, planted.y, bags=planted.bags) for more in ({}, {"max_pairs": 10})
    )
    assert exact.kernel_error_ is None
    assert 0 < estimated.kernel_error_ < 0.5
    assert estimated.n_iter_ == pytest.approx(exact.n_iter_, rel=0.5)
    assert np.corrcoef(exact.scores_, estimated.scores_)[0, 1] > 0.95


@pytest.mark.parametrize("name", ESTIMATED)
def test_a_sample_of_everything_estimates_what_is(name, planted):
    exact, estimated = (
        VOTERS[name](**more).fit(planted.X, planted.y, bags=planted.bags) for more in ({}, {"max_pairs": 10})
    )
    np.testing.assert_allclose(estimated.scores_, exact.scores_, atol=1e-3 * np.abs(exact.scores_).max())
    assert estimated.kernel_error_ == 0
