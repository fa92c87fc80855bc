"""The extent on the real page in headless Chromium: choose, undo, write, reload, and the offer of a wider one."""

import numpy as np
import pytest
from browsing import NEEDS_BROWSER, find_segment, open_image, wait_heard, write_masks

from segvote.method.extents import N_LEVELS
from segvote.run.correction_log import read_actions
from segvote.run.run import Run
from segvote.steps.reopening import reopen, vote

pytest.importorskip("playwright.sync_api")
pytestmark = NEEDS_BROWSER


def count_selected(page):
    return page.evaluate("() => segvote.store.images.map((image) => image.state.filter((one) => one & 4).length)")


def get_chosen(page):
    return page.locator("#extents button[aria-pressed=true]").inner_text()


def test_choose_undo_write_and_reload(address, open_page, run_copy):
    page = open_page(address)
    first = count_selected(page)
    assert get_chosen(page) == "2"
    page.locator("#extents button[data-level='6']").click()
    wait_heard(page, 1)
    widest = count_selected(page)
    assert get_chosen(page) == "6" and sum(widest) > sum(first)
    page.keyboard.press("z")
    wait_heard(page, 2)
    assert count_selected(page) == first and get_chosen(page) == "2"
    page.keyboard.press("Shift+Z")
    wait_heard(page, 3)
    current = page.evaluate("() => segvote.store.current")
    page.keyboard.press("(")
    wait_heard(page, 4)
    assert "extent 5" in page.locator("#image-extent").inner_text()
    write_masks(page)
    assert Run(run_copy).extent == 6
    shown = count_selected(page)
    assert [bag.n_selected for bag in Run(run_copy).bags] == shown
    again = open_page(address)
    assert get_chosen(again) == "6" and count_selected(again) == shown
    assert again.evaluate("(bag) => segvote.store.status.extents[bag]", current) == 5


def find_wider_segment(folder):
    """Image, segment and extent of one that the default extent leaves out and a wider one has."""
    run = Run(folder)
    levels = vote(reopen(run)).extents.levels
    for bag in range(len(run)):
        own = levels[run.get_slice(bag)]
        found = np.flatnonzero((own > run.extent) & (own <= N_LEVELS))
        if len(found):
            return bag, int(found[0]), int(own[found[0]])
    raise AssertionError("no segment of a wider extent")


def test_the_offer_widens_all_images(address, open_page, run_copy):
    bag, segment, level = find_wider_segment(run_copy)
    page = open_page(address)
    open_image(page, bag)
    page.mouse.click(*find_segment(page, segment))
    page.locator("#offer").wait_for(state="visible")
    assert f"Extent {level}" in page.locator("#offer").inner_text()
    wait_heard(page, 1)
    before = count_selected(page)
    page.locator("#offer button").click()
    wait_heard(page, 2)
    assert page.locator("#offer").is_hidden() and get_chosen(page) == str(level)
    assert sum(count_selected(page)) > sum(before)
    assert [(one.kind, one.image, one.value) for one in read_actions(run_copy / "review.sqlite")][1] == (
        "extent",
        "",
        level,
    )


def test_a_correction_to_background_offers_nothing(address, open_page, run_copy):
    bag, segment, _ = find_wider_segment(run_copy)
    page = open_page(address)
    open_image(page, bag)
    page.mouse.move(*find_segment(page, segment))
    page.keyboard.press("b")
    wait_heard(page, 1)
    assert page.locator("#offer").is_hidden()
