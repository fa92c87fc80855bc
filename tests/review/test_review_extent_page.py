"""The extent on the real page in headless Chromium: choose, undo, write, reload."""

import pytest
from browsing import NEEDS_BROWSER, wait_heard, write_masks

from segvote.run.run import Run

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
