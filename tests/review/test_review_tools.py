"""Smart click and the corners of a lasso on the real page, in headless Chromium."""

import numpy as np
import pytest
from browsing import NEEDS_BROWSER, click, locate, open_image, read_mask, wait_heard, wait_until_drawn

from segvote.run.correction_log import read_actions

pytest.importorskip("playwright.sync_api")
pytestmark = NEEDS_BROWSER
SQUARE = ((20, 20), (60, 20), (60, 50), (20, 50))


@pytest.fixture
def page(address, open_page):
    page = open_page(address)
    open_image(page)
    page.locator("#canvas").focus()
    return page


@pytest.fixture
def lasso(page):
    """The exact lasso on an image set as background, three corners of a square set."""
    page.evaluate("() => segvote.store.selected.add(0)")
    page.keyboard.press("c")
    page.keyboard.press("b")
    wait_heard(page, 1)
    page.keyboard.press("c")
    open_image(page)
    page.keyboard.press("l")
    page.keyboard.press("q")
    click(page, *SQUARE[:3])
    return page


def close(page):
    """Close the lasso; the mask then."""
    click(page, SQUARE[0])
    wait_until_drawn(page, 2)
    return read_mask(page)


def double_click(page, place):
    page.mouse.dblclick(*locate(page, *place))


def find_middle(mask):
    """x and y of the pixel of a mask that is nearest to its mean."""
    places = np.argwhere(mask)
    row, column = places[np.argmin(np.abs(places - places.mean(axis=0)).sum(axis=1))]
    return column + 0.5, row + 0.5


def test_a_smart_click_paints_a_region_and_is_undone(page, run_copy):
    before = read_mask(page)
    page.keyboard.press("p")
    assert page.locator("#canvas").get_attribute("data-tool") == "smart"
    click(page, find_middle(before))
    wait_until_drawn(page, 1)
    after = read_mask(page)
    assert (before & ~after).any() and not (after & ~before).any()
    (action,) = read_actions(run_copy / "review.sqlite")
    assert (action.kind, action.value) == ("paint", 0)
    page.keyboard.press("z")
    wait_until_drawn(page, 2)
    np.testing.assert_array_equal(read_mask(page), before)


def test_a_lasso_of_clicked_corners_is_closed_by_the_first(lasso):
    click(lasso, (90, 80))
    lasso.keyboard.press("Backspace")
    click(lasso, SQUARE[3])
    mask = close(lasso)
    assert mask[21:49, 21:59].all() and not mask[52:].any()


def test_a_double_click_elsewhere_closes_the_lasso(lasso):
    double_click(lasso, SQUARE[3])
    wait_until_drawn(lasso, 2)
    assert read_mask(lasso)[21:49, 21:59].all()
