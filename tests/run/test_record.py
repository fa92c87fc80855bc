"""What run.json says of a run."""

import pytest

from segvote.run.record import describe_search, make_record
from segvote.run.settings import Settings


@pytest.mark.parametrize(
    ("recall", "expected"),
    [
        (1.0, {"neighbours": "exact", "recall": 1.0}),
        (0.96789, {"neighbours": "approximate", "recall": 0.9679}),
        (None, {}),
    ],
)
def test_the_search_is_recorded_where_there_was_one(recall, expected):
    assert describe_search(recall) == expected
    assert make_record({}, Settings(), "", True, search=expected).get("search", {}) == expected


def test_a_run_says_that_it_looked_at_all_pairs(finished_run):
    assert finished_run.record["search"] == {"neighbours": "exact", "recall": 1.0}
