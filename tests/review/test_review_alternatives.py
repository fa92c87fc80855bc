"""Which of these is it, on the review page: alternatives are shown, chosen, undone, offered and written."""

import numpy as np
import pytest
from waiting import wait_for

from segvote import load_run
from segvote.errors import BadInputError, BusyRunError
from segvote.review.engine import Engine
from segvote.review.finishing import export_run
from segvote.review.session import Session
from segvote.review.voting import find_offer
from segvote.run.correction_log import read_actions
from segvote.run.run import Run


@pytest.fixture
def engine(run):
    engine = Engine(run)
    engine.start()
    wait_for(engine, 0)
    yield engine
    engine.stop()


def test_a_choice_shows_the_selection_of_the_alternative(engine):
    before, selections = engine.board.snapshot.selected, engine.voting.list_selections()
    assert len(selections) > 1 and (selections[1] != selections[0]).any()
    np.testing.assert_array_equal(selections[0], before)
    after = wait_for(engine, engine.actions.choose_alternative(1))
    np.testing.assert_array_equal(after.selected, selections[1])
    back = wait_for(engine, engine.actions.undo(1))
    np.testing.assert_array_equal(back.selected, before)


def test_a_repeated_choice_is_one_action_of_the_page(engine):
    first = engine.actions.choose_alternative(1)
    wait_for(engine, first)
    assert engine.actions.choose_alternative(1) == first
    assert len(read_actions(engine.run.folder.corrections_path)) == 1


@pytest.mark.parametrize("number", [-1, 6, 25])
def test_an_alternative_that_does_not_exist_is_refused(engine, number):
    with pytest.raises(BadInputError, match="expected an alternative from A to"):
        engine.actions.choose_alternative(number)
    assert read_actions(engine.run.folder.corrections_path) == []


def test_before_the_first_vote_a_choice_is_refused(run):
    engine = Engine(run)
    with pytest.raises(BusyRunError, match="the first one still runs"):
        engine.actions.choose_alternative(1)
    engine.log.close()


def test_the_page_and_the_command_write_the_same(engine, run_copy):
    wait_for(engine, engine.actions.choose_alternative(1))
    written = export_run(engine.settle())
    assert written.alternative == 1
    np.testing.assert_array_equal(written.votes["selected"], load_run(run_copy).alternatives[1].selected)


def test_an_added_segment_offers_the_alternative_that_has_it(engine):
    selections = engine.voting.list_selections()
    first = int(np.flatnonzero(selections[1] & ~selections[0] & ~selections[2:].any(axis=0))[0])
    bag = int(np.searchsorted(engine.run.offsets, first, side="right")) - 1
    segment = first - int(engine.run.offsets[bag])
    number = engine.actions.set_segments(bag, [segment], 1)
    assert engine.actions.get_offer(number) == 1
    wait_for(engine, number)
    assert engine.actions.get_offer(engine.actions.set_segments(bag, [segment], 0)) == -1


@pytest.mark.parametrize(
    ("chosen", "n_pixels", "offer"),
    [(0, [9, 4, 0, 0], 1), (0, [0, 3, 4, 0], 2), (0, [0, 3, 4, 9], -1), (2, [0, 0, 4, 0], -1), (0, [5, 0, 0, 0], -1)],
)
def test_the_offer_has_most_of_the_added_pixels(chosen, n_pixels, offer):
    selections = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], dtype=bool)
    shown = np.array([True, False, False, False])
    assert find_offer(selections, shown, chosen, np.repeat(np.arange(4), n_pixels)) == offer


def test_the_panel_lists_letters_and_images(run):
    session = Session(run)
    session.open()
    wait_for(session.engine, 0)
    found = session.describe_alternatives()
    assert found["letters"] == list("ABCDEF"[: len(load_run(run.folder.path).alternatives)])
    assert 0 < len(found["bags"]) <= 6 and session.draw_alternative(1, found["bags"][0])[:2] == b"\xff\xd8"
    with pytest.raises(BadInputError):
        session.draw_alternative(9, 0)
    assert session.describe_status()["alternative"] == 0
    session.close()


def test_a_reopened_review_shows_the_choice(engine, run_copy):
    wait_for(engine, engine.actions.choose_alternative(1))
    chosen = engine.voting.list_selections()[1]
    again = Engine(Run(run_copy))
    again.start()
    np.testing.assert_array_equal(wait_for(again, 1).selected, chosen)
    again.stop()
