"""The question on the page in headless Chromium: choose, undo, reload, write; an offer after a click."""

import numpy as np
import pytest
from browsing import NEEDS_BROWSER, find_segment, open_image, wait_heard, wait_until, write_masks

from segvote import load_run

pytest.importorskip("playwright.sync_api")
pytestmark = NEEDS_BROWSER


def count_selected(page):
    return page.evaluate("() => segvote.store.images.map((image) => image.state.filter((one) => one & 4).length)")


def get_chosen(page):
    return page.locator(".alternative[aria-pressed=true]").get_attribute("data-number")


def count_all(run, number):
    selected = run.alternatives[number].selected
    return [int(selected[run.get_slice(index)].sum()) for index in range(len(run))]


def test_a_choice_is_made_undone_reloaded_and_written(address, open_page, run_copy):
    run, page = load_run(run_copy), open_page(address)
    page.locator("#tab-alternatives").click()
    page.locator("#alternatives h3", has_text="Is it one of these?").wait_for()
    assert page.locator(".alternative").count() == len(run.alternatives) and get_chosen(page) == "0"
    page.locator(".alternative[data-number='1']").click()
    wait_heard(page, 1)
    assert get_chosen(page) == "1" and count_selected(page) == count_all(run, 1)
    page.keyboard.press("z")
    wait_heard(page, 2)
    assert get_chosen(page) == "0" and count_selected(page) == count_all(run, 0)
    page.keyboard.press("Shift+Digit2")
    wait_heard(page, 3)
    again = open_page(address)
    again.locator("#tab-alternatives").click()
    again.locator(".alternative[data-number='1'][aria-pressed=true]", has_text="shown now").wait_for()
    assert count_selected(again) == count_all(run, 1)
    write_masks(again)
    written = load_run(run_copy)
    assert written.alternative == 1
    np.testing.assert_array_equal(written.votes["selected"], run.alternatives[1].selected)


def test_a_letter_without_an_alternative_is_explained(address, open_page, run_copy):
    page = open_page(address)
    page.locator("#tab-alternatives").click()
    page.locator("#alternatives h3").wait_for()
    page.evaluate("() => segvote.tell('alternative', 9)")
    page.locator("#toast", has_text="to choose from").wait_for()


def test_a_click_on_what_another_has_offers_it(address, open_page, run_copy):
    run, page = load_run(run_copy), open_page(address)
    others = np.array([one.selected for one in run.alternatives[2:]]).reshape(-1, int(run.offsets[-1])).any(axis=0)
    first = int(np.flatnonzero(run.alternatives[1].selected & ~run.alternatives[0].selected & ~others)[0])
    bag = int(np.searchsorted(run.offsets, first, side="right")) - 1
    open_image(page, bag)
    page.mouse.click(*find_segment(page, first - int(run.offsets[bag])))
    offer = page.locator("#toast", has_text="B has this region. Take B in all images?")
    offer.wait_for()
    wait_heard(page, 1)
    offer.locator("button").click()
    wait_heard(page, 2)
    wait_until(page, "() => segvote.store.status.alternative === 1")
    page.keyboard.press("z")
    wait_heard(page, 3)
    assert page.evaluate("() => segvote.store.status.alternative") == 0
