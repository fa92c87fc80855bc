"""Smart click and the corners of a lasso on the real page, in headless Chromium."""

import numpy as np
import pytest
from browsing import NEEDS_BROWSER, click, drag, locate, open_image, read_mask, wait_heard, wait_until_drawn

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


def test_a_smart_click_by_keyboard_adds_where_no_mask_is(page):
    before = read_mask(page)
    page.keyboard.press("p")
    page.keyboard.press("o")
    for _ in range(60):  # into the corner of the image
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    wait_until_drawn(page, 1)
    assert read_mask(page)[0, 0] and read_mask(page).sum() > before.sum()


def test_a_corner_is_dragged_before_the_lasso_is_closed(lasso):
    click(lasso, (20, 70))
    drag(lasso, (20, 70), SQUARE[3])
    mask = close(lasso)
    assert mask[21:49, 21:59].all() and not mask[52:].any()


def test_a_click_on_an_edge_inserts_a_corner(lasso):
    drag(lasso, (40, 20), (40, 5))  # pressed on the edge, and pulled up
    click(lasso, SQUARE[3])
    mask = close(lasso)
    assert mask[8:49, 39:41].all() and not mask[8:12, 21:28].any()


@pytest.mark.parametrize("by_key", [True, False])
def test_a_corner_is_deleted(lasso, by_key):
    click(lasso, (90, 80), SQUARE[3])
    if by_key:
        lasso.mouse.move(*locate(lasso, 90, 80))
        lasso.keyboard.press("Backspace")
    else:
        double_click(lasso, (90, 80))
    mask = close(lasso)
    assert mask[21:49, 21:59].all() and not mask[:, 62:].any()


def test_a_double_click_elsewhere_closes_the_lasso(lasso):
    double_click(lasso, SQUARE[3])
    wait_until_drawn(lasso, 2)
    assert read_mask(lasso)[21:49, 21:59].all()


def test_the_outline_of_a_mask_is_changed_by_its_corners(lasso, run_copy):
    click(lasso, SQUARE[3])
    before = close(lasso)
    double_click(lasso, (40, 35))
    lasso.locator("#toast", has_text="Drag corners").wait_for()
    drag(lasso, SQUARE[2], (60, 38))
    lasso.keyboard.press("Enter")
    wait_until_drawn(lasso, 3)
    after = read_mask(lasso)
    assert before[46, 57] and not after[46, 57] and after[22:37, 22:58].all() and not (after & ~before).any()
    lasso.keyboard.press("z")
    wait_until_drawn(lasso, 4)
    np.testing.assert_array_equal(read_mask(lasso), before)
    assert [one.value for one in read_actions(run_copy / "review.sqlite")[:3]] == [0, 1, 0]
