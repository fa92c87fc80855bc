import copy

import numpy as np
import pytest
from msgspec.structs import replace

from segvote.errors import BadInputError
from segvote.pipeline.corrected_vote import vote
from segvote.pipeline.explain import explain_segment, find_segment, format_explanation
from segvote.pipeline.opening import reopen
from segvote.report.explanation_page import format_page


@pytest.fixture(scope="module")
def run_vote(finished_run):
    return vote(reopen(finished_run))


@pytest.mark.parametrize("bag", [0, 3, 11])
def test_amounts_sum_to_the_score(run_vote, bag):
    for segment in range(0, 40, 7):
        explanation = explain_segment(run_vote, bag, segment)
        total = sum(line.amount for line in explanation.lines) + explanation.constant
        assert total == pytest.approx(
            run_vote.selection.scores[run_vote.inputs.table.bag_offsets[bag] + segment], abs=1e-9
        )


def test_voters_are_of_other_images_and_neighbours_of_the_same(run_vote):
    explanation = explain_segment(run_vote, 2, 4)
    assert {line.bag for line in explanation.lines if line.kind == "neighbour"} == {2}
    assert 2 not in {line.bag for line in explanation.lines if line.kind == "vote"}


def test_a_segment_is_found_by_number_by_point_and_as_the_best(finished_run):
    labels = finished_run.read_segments(0)["labels"]
    assert find_segment(finished_run, 0, "7") == 7
    assert find_segment(finished_run, 0, "30,20") == labels[20, 30]
    best = find_segment(finished_run, 0, "")
    assert best == np.argmax(finished_run.votes["scores"][finished_run.get_slice(0)])


@pytest.mark.parametrize("text", ["-1", "99999", "a", "1,2,3", "1000,5", "5,-5", "1.5"])
def test_what_is_no_segment_is_refused_with_the_range(finished_run, text):
    with pytest.raises(BadInputError, match="expected a segment"):
        find_segment(finished_run, 0, text)


def test_the_text_lists_both_sides_and_the_score(run_vote, finished_run):
    text = format_explanation(explain_segment(run_vote, 0, find_segment(finished_run, 0, "")), finished_run, n_lines=2)
    assert "votes for" in text and "votes against" in text and text.splitlines()[-1].endswith("score")


def test_the_page_needs_nothing_else(run_vote, finished_run):
    page = format_page(explain_segment(run_vote, 0, 3), finished_run)
    assert page.count("data:image/jpeg;base64,") >= 2
    assert "http:" not in page and "<script" not in page


def test_names_that_command_a_terminal_are_printed_harmlessly(run_vote, finished_run):
    run = copy.copy(finished_run)
    run.bags = [replace(bag, name=f"{bag.name}\x1b[2J\u202egnp") for bag in run.bags]
    text = format_explanation(explain_segment(run_vote, 0, 0), run)
    assert "\\x1b[2J\\u202e" in text and "\x1b" not in text and "\u202e" not in text
