"""Smart click, lasso and extent on the page in headless Chromium."""

import numpy as np
import pytest
from browsing import (
    NEEDS_BROWSER,
    click,
    drag,
    locate,
    open_image,
    read_mask,
    wait_heard,
    wait_until_drawn,
    write_masks,
)

from segvote.run.correction_log import read_actions
from segvote.run.run import Run

pytest.importorskip("playwright.sync_api")
pytestmark = NEEDS_BROWSER
SQUARE = ((20, 20), (60, 20), (60, 50), (20, 50))


@pytest.fixture
def page(address, open_page):
    page = open_page(address)
    open_image(page)
    page.locator("#canvas").focus()
    return page


def test_a_smart_click_paints_a_region_and_is_undone(page, run_copy):
    before = read_mask(page)
    places = np.argwhere(before)
    row, column = places[np.argmin(np.abs(places - places.mean(axis=0)).sum(axis=1))] + 0.5
    page.keyboard.press("p")
    click(page, (column, row))
    wait_until_drawn(page, 1)
    after = read_mask(page)
    assert (before & ~after).any() and not (after & ~before).any()
    (action,) = read_actions(run_copy / "review.sqlite")
    assert (action.kind, action.value) == ("paint", 0)
    page.keyboard.press("z")
    wait_until_drawn(page, 2)
    np.testing.assert_array_equal(read_mask(page), before)


@pytest.fixture
def lasso(page):
    """The exact lasso on an image set as background, three corners of a square set."""
    page.evaluate("() => segvote.store.selected.add(0)")
    for key in ("c", "b"):  # set as background in the overview
        page.keyboard.press(key)
    wait_heard(page, 1)
    page.keyboard.press("c")
    open_image(page)
    for key in ("l", "q"):  # exactly as drawn
        page.keyboard.press(key)
    click(page, *SQUARE[:3])
    return page


@pytest.mark.parametrize("close", ["click on the first corner", "double click", "Enter"])
def test_a_lasso_of_clicked_corners_is_closed(lasso, close):
    click(lasso, (90, 80))
    lasso.keyboard.press("Backspace")
    if close == "double click":
        lasso.mouse.dblclick(*locate(lasso, *SQUARE[3]))
    else:
        click(lasso, SQUARE[3])
    if close == "Enter":
        lasso.keyboard.press("Enter")
    elif close != "double click":
        click(lasso, SQUARE[0])
    wait_until_drawn(lasso, 2)
    mask = read_mask(lasso)
    assert mask[21:49, 21:59].all() and not mask[52:].any()


def test_corners_of_a_lasso_and_of_an_outline_are_dragged(lasso, run_copy):
    click(lasso, (20, 70))
    drag(lasso, (20, 70), SQUARE[3])
    lasso.mouse.dblclick(*locate(lasso, *SQUARE[0]))  # the first click closes it; the second takes no outline
    wait_until_drawn(lasso, 2)
    square = read_mask(lasso)
    assert square[21:49, 21:59].all() and not square[52:].any()
    lasso.mouse.dblclick(*locate(lasso, 40, 35))
    lasso.locator("#toast", has_text="Drag corners").wait_for()
    drag(lasso, SQUARE[2], (60, 38))
    drag(lasso, (40, 20), (40, 8))  # an edge gets a corner
    lasso.keyboard.press("Enter")
    wait_until_drawn(lasso, 4)  # two actions, undone together
    after = read_mask(lasso)
    assert square[46, 57] and not after[46, 57] and after[12:37, 39:41].all() and not after[10:15, 21:28].any()
    assert [one.value for one in read_actions(run_copy / "review.sqlite")] == [0, 1, 1, 0]
    lasso.keyboard.press("z")
    wait_until_drawn(lasso, 5)
    np.testing.assert_array_equal(read_mask(lasso), square)


def count_selected(page):
    return page.evaluate("() => segvote.store.images.map((image) => image.state.filter((one) => one & 4).length)")


def get_chosen(page):
    return page.locator("#extents button[aria-pressed=true]").inner_text()


def test_an_extent_is_chosen_undone_written_and_reloaded(address, open_page, run_copy):
    page = open_page(address)
    first = count_selected(page)
    assert get_chosen(page) == "2"
    page.locator("#extents button[data-extent='6']").click()
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
