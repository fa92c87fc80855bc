"""Input of voters: what is wrong gets one clear error; quadratic voters refuse what would take hours."""

import numpy as np
import pytest

from segvote.datasets import make_bags
from segvote.errors import BadInputError, TooLargeError
from segvote.voters import VOTERS
from segvote.voters.walk import Walk

QUADRATIC = ("crane", "ekde-paper", "evidence", "f-neg", "skde")


@pytest.fixture(scope="module")
def small():
    X, y, bags, _ = make_bags(n_with=3, n_without=3, n_segments=6, n_object=1, n_odd=1)
    return X, y, bags


@pytest.mark.parametrize("label", [0, 1])
def test_one_kind_of_bag_is_not_enough(small, label):
    X, y, bags = small
    with pytest.raises(BadInputError, match="two classes"):
        Walk().fit(X[y == label], y[y == label], bags=bags[y == label])


def test_a_bag_with_both_labels_is_named(small):
    X, y, bags = small
    y = y.copy()
    y[bags == 2] = [1, 1, 1, 0, 0, 0]
    with pytest.raises(BadInputError, match=r"bag .*2.* has both"):
        Walk().fit(X, y, bags=bags)


@pytest.mark.parametrize("name", ["bags", "prior", "user_labels"])
def test_lengths_must_match(small, name):
    X, y, _ = small
    with pytest.raises(BadInputError, match=f"{name} must have one value per segment"):
        Walk().fit(X, y, **{name: np.zeros(len(X) - 1, dtype=int)})


def test_values_must_make_sense(small):
    X, y, _ = small
    with pytest.raises(BadInputError, match="prior must lie"):
        Walk().fit(X, y, prior=np.full(len(X), 1.5))
    with pytest.raises(BadInputError, match="user_labels must be"):
        Walk().fit(X, y, user_labels=np.full(len(X), 2))


@pytest.mark.parametrize("name", QUADRATIC)
def test_too_many_pairs_are_refused_with_another_voter(name, planted, monkeypatch):
    monkeypatch.setattr("segvote.voters.kernel_votes.MAX_PAIRS", 10)
    monkeypatch.setattr("segvote.voters.paper.MAX_KERNELS", 10)
    with pytest.raises(TooLargeError, match=r"at most 1e\+01; got .*Use voter ekde"):
        VOTERS[name]().fit(planted.X, planted.y, bags=planted.bags)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("activation", {"blocks": (2, 3)}, "sum to the 6 features"),
        ("crane", {"ties": "random"}, "ties must be one of distance, none"),
        ("dd", {"n_starts": 0}, "n_starts"),
        ("dd-svm", {"n_starts": 0}, "n_starts"),
        ("ekde-paper", {"bandwidth_rule": "widest"}, "absolute-difference, difference, discrepancy, separate, window"),
        ("knn-negatives", {"n_neighbors": 0}, "n_neighbors"),
        ("milboost", {"n_rounds": 0}, "n_rounds"),
        ("sskde", {"trust_votes": 1.0}, "trust_votes"),
        ("walk-adapted", {"gain": 0.0}, "gain"),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(name, options, expected, planted):
    with pytest.raises(BadInputError, match=expected):
        VOTERS[name](**options).fit(planted.X, planted.y, bags=planted.bags)
