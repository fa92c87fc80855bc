"""Finished images in the page: they change the others, a line says so, undo takes them back; audit, reload."""

from dataclasses import replace

import numpy as np
import pytest
from browsing import NEEDS_BROWSER, open_image, wait_heard, wait_until

from segvote.errors import BadInputError
from segvote.pipeline.corrected_vote import vote
from segvote.pipeline.lessons import find_first
from segvote.pipeline.opening import reopen
from segvote.review.engine import Engine
from segvote.run.correction_log import read_actions
from segvote.run.corrections import read_corrections
from segvote.run.run import Run

pytest.importorskip("starlette")


@pytest.fixture
def engine(run):
    engine = Engine(run)
    yield engine
    engine.log.close()


def test_an_audit_draws_with_images_that_are_not_accepted(engine, run):
    engine.actions.accept([0], True)
    drawn = engine.actions.audit()
    assert sorted(drawn) == [1, 2, 3, 4, 5]
    assert read_corrections(run.folder).audited == tuple(run.bags[bag].digest for bag in drawn)


def test_an_audit_is_undone_at_once(engine, run):
    engine.actions.audit()
    engine.actions.undo(engine.board.corrections.last)
    assert read_corrections(run.folder).audited == ()


def test_an_audit_of_accepted_images_is_an_error(engine):
    engine.actions.accept([0, 1, 2, 3, 4, 5], True)
    with pytest.raises(BadInputError, match="accepted already"):
        engine.actions.audit()


def test_a_sure_vote_asks_for_no_image(run):
    run_vote = vote(reopen(run))
    first = find_first(run_vote)
    assert (first == -1) == (run_vote.base.confidence.level == "high")


def test_the_image_to_finish_first_is_the_most_central(run):
    run_vote = vote(reopen(run))
    unsure = replace(run_vote, base=replace(run_vote.base, confidence=replace(run_vote.base.confidence, value=0.0)))
    table = run_vote.inputs.table
    means = np.array(
        [np.average(table.X[table.images == i], axis=0, weights=table.areas[table.images == i]) for i in range(6)]
    )
    assert find_first(unsure) == np.argmin(np.linalg.norm(means - means.mean(axis=0), axis=1))


LESSON = "() => document.getElementById('lesson').hidden ? '' : document.getElementById('lesson-text').textContent"


@pytest.mark.parametrize("mark", [pytest.param(None, marks=NEEDS_BROWSER)])
class TestPage:
    @pytest.fixture
    def page(self, address, open_page):
        page = open_page(address)
        open_image(page)
        return page

    def test_two_finished_images_are_told_and_undone(self, page, mark):
        # Two images that are all background: the others have to follow.
        before = page.evaluate("() => segvote.store.images.map((image) => [...image.scores])")
        for index in (0, 1):
            open_image(page, index)
            page.keyboard.press("Shift+B")
            page.keyboard.press("a")
        wait_until(
            page, "() => segvote.store.status.nFinished === 2 && /: left out, they/.test(segvote.store.status.lesson)"
        )
        wait_heard(page, 4)
        assert "2 finished images: left out, they are predicted with IoU" in page.evaluate(LESSON)
        after = page.evaluate("() => segvote.store.images.map((image) => [...image.scores])")
        assert any(one != other for one, other in zip(before[2:6], after[2:6], strict=True))
        page.locator("#lesson-undo").click()
        wait_until(page, "() => segvote.store.status.nFinished === 1")
        page.keyboard.press("z")
        page.keyboard.press("z")
        page.keyboard.press("z")
        wait_until(page, "() => segvote.store.status.nFinished === 0")
        wait_until(page, "() => document.getElementById('lesson').hidden")

    def test_an_audit_hands_out_images_and_outlives_a_reload(self, page, run_copy, mark):
        page.keyboard.press("Shift+A")
        wait_until(page, "() => segvote.store.status.audit.length === 6")
        drawn = page.evaluate("() => segvote.store.status.audit")
        wait_until(page, "(first) => segvote.store.current === first", drawn[0])
        page.keyboard.press("a")
        wait_until(page, "(next) => segvote.store.current === next", drawn[1])
        page.reload()
        page.wait_for_selector("html[data-ready=yes]")
        wait_until(page, "() => segvote.store.status.audit?.length === 5")
        assert page.locator("#audit").inner_text() == "Audit: 5 left"
        assert [one.kind for one in read_actions(run_copy / "review.sqlite")] == ["audit"] * 6 + ["accept"]

    def test_three_audited_images_give_an_unbiased_estimate(self, page, mark):
        page.locator("#audit").click()
        # The status may come before the answer that leads to the first image.
        wait_until(page, "() => segvote.store.status.audit?.[0] === segvote.store.current")
        for number in (1, 2, 3):
            page.keyboard.press("a")
            wait_until(page, "(number) => segvote.store.images.filter((one) => one.accepted).length === number", number)
        wait_until(page, "() => /3 finished images drawn at random/.test(segvote.store.status.estimate)")


@pytest.mark.parametrize("mark", [pytest.param(None, marks=NEEDS_BROWSER)])
def test_a_killed_server_forgets_no_lesson(run_copy, serve_in_thread, open_page, mark):
    with serve_in_thread(run_copy) as address:
        page = open_page(address)
        open_image(page)
        for _ in range(2):
            page.keyboard.press("a")
        wait_until(page, "() => segvote.store.status.nFinished === 2")
    with serve_in_thread(run_copy) as address:
        page = open_page(address)
        wait_until(page, "() => segvote.store.status.nFinished === 2")
        assert "2 finished images" in page.evaluate(LESSON)
    assert len(read_corrections(Run(run_copy).folder).finished) == 2
