"""The walk among those that may vote, against the walk among all."""

import numpy as np
import pytest

from segvote.voters import walk as walk_module
from segvote.voters.ekde import EKDE


@pytest.fixture
def user_labels(planted):
    user_labels = np.full(len(planted.X), -1, dtype=np.int8)
    user_labels[planted.truth & (planted.bags == 0)] = 1
    user_labels[np.flatnonzero(planted.bags == 1)[:3]] = 0
    user_labels[np.flatnonzero(planted.bags == planted.bags.max())[:2]] = 1
    return user_labels


def score(planted, user_labels):
    voter = EKDE(n_neighbors=20).fit(planted.X, planted.y, bags=planted.bags, user_labels=user_labels)
    return voter.scores_, voter.weights_, voter.score_held_out(np.arange(planted.bags.max() + 1) % 4)


@pytest.mark.parametrize("is_corrected", [False, True])
def test_a_walk_among_those_that_may_vote_is_the_walk_among_all_to_the_bit(
    planted, user_labels, is_corrected, monkeypatch
):
    said = user_labels if is_corrected else None
    narrow = score(planted, said)
    monkeypatch.setattr(walk_module, "MOST_COPIED", 0)
    for one, other in zip(narrow, score(planted, said), strict=True):
        assert one.tobytes() == other.tobytes()
