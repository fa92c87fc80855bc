from segvote.cli.terminal import FIRST_LINE, NEXT_LINE, LineProgress


def report(moments):
    """Lines of reports at moments, each (seconds, step, done), of 10."""
    lines, now = [], [0.0]
    progress = LineProgress(lines.append, lambda: now[0])
    for seconds, step, done in moments:
        now[0] = seconds
        progress.report(step, done, 10)
    return lines


def test_a_short_step_says_nothing():
    assert report([(0, "vote", 0), (FIRST_LINE / 2, "vote", 10), (FIRST_LINE, "write", 0)]) == []


def test_a_long_step_says_how_far_it_is():
    later = FIRST_LINE + NEXT_LINE
    moments = [(0, "vote", 0), (FIRST_LINE, "vote", 3), (FIRST_LINE + 1, "vote", 4), (later, "vote", 9)]
    assert report(moments) == ["vote: 3 of 10", "vote: 9 of 10"]
