"""What a new user does on the page in the first hour, in headless Chromium: select all, undo fast, change the size."""

import pytest
from browsing import NEEDS_BROWSER, wait_until

from segvote.run.correction_log import read_actions

pytest.importorskip("playwright.sync_api")
pytestmark = NEEDS_BROWSER


@pytest.fixture
def page(address, open_page):
    page = open_page(address)
    wait_until(page, "() => segvote.getRegions() !== null")
    return page


def label_next(page, key):
    """Move to another segment and label it."""
    page.locator("#canvas").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press(key)


def test_select_all_and_a_accept_all(page, run_copy):
    page.keyboard.press("c")
    page.locator("#grid-all").click()  # the focus is on the button now
    page.keyboard.press("a")
    wait_until(page, "() => segvote.store.images.filter((image) => image.accepted).length === 6")
    assert len(read_actions(run_copy / "review.sqlite")) == 6
    assert page.locator("#progress-text").inner_text() == "6 of 6 accepted"
    page.keyboard.press("z")
    wait_until(page, "() => segvote.store.images.filter((image) => image.accepted).length === 0")


@pytest.mark.parametrize("key", ["a"])
def test_a_with_nothing_selected_accepts_nothing(page, key):
    page.keyboard.press("c")
    page.locator("#overview").focus()
    page.keyboard.press(key)
    assert page.locator("#grid").is_visible()
    assert page.evaluate("() => segvote.store.images.filter((image) => image.accepted).length") == 0


def test_three_fast_undos_are_three(page, run_copy):
    for key in ("b", "o", "b"):
        label_next(page, key)
    for _ in range(3):
        page.keyboard.press("z")
    wait_until(page, "() => segvote.store.status.action === 6 && segvote.store.status.nUndo === 0")
    assert [action.kind for action in read_actions(run_copy / "review.sqlite")] == ["set"] * 3 + ["undo"] * 3
    assert page.locator("#toast").is_hidden() or "another page" not in page.locator("#toast").inner_text()
    for _ in range(4):  # one more than there is
        page.keyboard.press("Shift+Z")
    wait_until(page, "() => segvote.store.status.action === 9 && segvote.store.status.nRedo === 0")


def test_keys_and_slider_run_the_same_way(page):
    words = []
    for key in "12345":
        page.keyboard.press(key)
        assert page.evaluate("() => Number(document.getElementById('size').value)") == int(key) - 1
        words.append(page.locator("#size-text").inner_text())
    assert words == ["segment", "small", "medium", "large", "largest"]
    page.locator("#size").fill("1")
    assert page.locator("#size-text").inner_text() == "small"


def test_the_hint_is_shown_until_the_first_action(page, open_page, address):
    assert page.locator("#hint").is_visible()
    label_next(page, "b")
    page.locator("#hint").wait_for(state="hidden")
    assert open_page(address).locator("#hint").is_hidden()


@pytest.mark.parametrize("width", [360])
def test_no_tool_is_cut_on_a_phone(page, width):
    page.set_viewport_size({"width": width, "height": 740})
    for box in page.evaluate(
        "() => [...document.querySelectorAll('.tools button, .tools input')].map((one) => {"
        " const { left, right } = one.getBoundingClientRect();"
        " return [left, right, one.scrollWidth > one.clientWidth + 1]; })"
    ):
        left, right, is_cut = box
        assert left >= 0 and right <= width and not is_cut
