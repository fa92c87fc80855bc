"""Quadratic voters refuse what would take for ever, and name one that would not."""

import inspect

import pytest

from segvote.errors import TooLargeError
from segvote.voting import VOTERS

QUADRATIC = [name for name in VOTERS if "max_pairs" in inspect.signature(VOTERS[name]).parameters]


def test_the_voters_with_a_limit_are_those_that_look_at_all_pairs():
    assert QUADRATIC == ["crane", "ekde-paper", "evidence", "f-neg", "skde"]


@pytest.mark.parametrize("name", QUADRATIC)
def test_too_many_pairs_are_refused_with_another_voter_named(name, planted):
    with pytest.raises(TooLargeError, match=r"at most 1e\+01; got .*Use voter ekde"):
        VOTERS[name](max_pairs=10).fit(planted.X, planted.y, bags=planted.bags)
