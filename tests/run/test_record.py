"""What run.json says of a run."""

from types import SimpleNamespace

import pytest

from segvote.run.record import describe_search, make_record
from segvote.run.settings import Settings


@pytest.mark.parametrize(
    ("voter", "expected"),
    [
        (SimpleNamespace(recall_=1.0), {"neighbours": "exact", "recall": 1.0}),
        (SimpleNamespace(recall_=0.96789), {"neighbours": "approximate", "recall": 0.9679}),
        (SimpleNamespace(kernel_error_=0.01239), {"kernels": "sampled", "kernel_error": 0.0124}),
        (SimpleNamespace(kernel_error_=None), {}),
        (SimpleNamespace(), {}),
    ],
)
def test_the_search_for_neighbours_is_told_where_there_was_one(voter, expected):
    assert describe_search(voter) == expected
    assert make_record({}, Settings(), "", True, search=expected).get("search", {}) == expected


def test_a_run_says_that_it_looked_at_all_pairs(finished_run):
    assert finished_run.record["search"] == {"neighbours": "exact", "recall": 1.0}
