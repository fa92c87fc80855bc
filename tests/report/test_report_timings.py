"""Times: from the last call that wrote results, whatever else is in the log."""

import pytest
from made_runs import LOG

from segvote.report.markup import format_duration
from segvote.report.summary import format_timings, list_calls

STOPPED = LOG[:3]
IDLE = ({"step": "start"}, {"step": "bags", "worker_seconds": {}}, {"step": "extract", "seconds": 0.1})
AGAIN = (*IDLE, {"step": "vote", "seconds": 7.0}, {"step": "model", "seconds": 1.0})


def test_a_call_ends_where_the_next_one_starts():
    calls = list_calls([*LOG, *LOG])
    assert [call.total for call in calls] == [pytest.approx(4.01)] * 2


def test_a_repeated_call_does_not_hide_the_times():
    block = format_timings([*LOG, *IDLE])
    assert "3.2 s" in block and "nothing to do" in block


def test_last_results_count():
    block = format_timings([*LOG, *AGAIN])
    assert "7.0 s" in block.split("<details>")[0]
    assert "used again" in block


@pytest.mark.parametrize(
    "log",
    [[], [1, None, "x"], [{"step": "vote", "seconds": 1}], [{"step": "start", "settings": 3, "time": "x"}], STOPPED],
)
def test_a_log_that_tells_nothing_is_no_failure(log):
    block = format_timings(log)
    assert block.startswith("<!-- timings -->") and block.endswith("<!-- /timings -->\n")
    assert "no times" in block


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.006, "6 ms"), (2.34, "2.3 s"), (65, "1 min 5 s"), (7380, "2 h 3 min")]
)
def test_durations_read_like_speech(seconds, text):
    assert format_duration(seconds) == text
