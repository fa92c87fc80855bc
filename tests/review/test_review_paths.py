"""A way through the page in headless Chromium: zoom, paint, lasso, overview, finish; by pointer and by keys."""

import sqlite3

import numpy as np
import pytest
from browsing import NEEDS_BROWSER, drag, locate, open_image, read_mask, wait_heard, wait_until, wait_until_drawn

from segvote.io.imports import read_any
from segvote.run.correction_log import read_actions
from segvote.run.run import Run

pytest.importorskip("playwright.sync_api")
pytestmark = NEEDS_BROWSER


@pytest.fixture
def page(address, open_page):
    page = open_page(address)
    open_image(page)
    return page


def test_a_person_goes_from_opening_to_export(page, run_copy):
    before = read_mask(page)
    # Zoom at the pointer: the place under it stays under it.
    place = locate(page, 40, 40)
    page.mouse.move(*place)
    page.mouse.wheel(0, -300)
    wait_until(page, "() => segvote.getView().zoom > 8")
    np.testing.assert_allclose(locate(page, 40, 40), place, atol=3)  # browsers tell wheels whole pixels only
    # Paint exactly, undo, redo.
    page.keyboard.press("r")
    page.keyboard.press("q")
    page.evaluate("() => segvote.store.radius = 3")
    drag(page, (30.5, 30.5), (50.5, 30.5))
    wait_until_drawn(page, 1)
    painted = read_mask(page)
    assert painted[28:33, 32:49].all()
    page.keyboard.press("z")
    wait_until_drawn(page, 2)
    np.testing.assert_array_equal(read_mask(page), before)
    page.keyboard.press("Shift+Z")
    wait_until_drawn(page, 3)
    np.testing.assert_array_equal(read_mask(page), painted)
    # Erase with a lasso.
    page.keyboard.press("0")
    page.keyboard.press("l")
    page.keyboard.press("b")
    drag(page, (34, 20), (46, 20), (46, 40), (34, 40), (34, 20))
    wait_until_drawn(page, 4)
    assert not read_mask(page)[22:38, 36:44].any()
    # Accept; look at all images; finish; export.
    page.keyboard.press("a")
    page.keyboard.press("c")
    page.locator("#tiles .tile").first.wait_for()
    assert page.locator("#tiles .tile").count() == 6
    page.keyboard.press("Escape")
    page.evaluate("() => segvote.go(0)")
    wait_until(page, "() => segvote.getRegions() !== null && segvote.isDrawn(0)")
    shown = read_mask(page)
    page.keyboard.press("e")
    page.locator("#write-masks").click()
    page.locator("#write-result", has_text="COCO").wait_for()
    row = page.locator(".format", has=page.locator("strong", has_text="cvat"))
    assert row.locator("code").inner_text().endswith("--format cvat")
    row.locator("button").click()
    row.locator(".format-result", has_text="exports").wait_for()
    np.testing.assert_array_equal(Run(run_copy).read_mask(0), shown)
    exported = read_any(run_copy / "exports" / "cvat" / "annotations.xml")
    found = next(one for one in exported if one.name == Run(run_copy).bags[0].name)
    np.testing.assert_array_equal(np.any([part.mask for part in found.parts], axis=0), shown)


def test_eraser_and_fill_remove_pixels(page, run_copy):
    before = read_mask(page)
    row, column = np.argwhere(before).mean(axis=0).astype(int) + 0.5
    page.keyboard.press("x")
    drag(page, (column - 3, row), (column + 3, row))
    wait_until_drawn(page, 1)
    erased = read_mask(page)
    assert erased.sum() < before.sum() and not erased[int(row), int(column)]
    page.keyboard.press("i")
    row, column = np.argwhere(erased)[0] + 0.5
    page.mouse.click(*locate(page, column, row))
    wait_until_drawn(page, 2)
    assert not read_mask(page)[int(row), int(column)]
    assert [(one.kind, one.value) for one in read_actions(run_copy / "review.sqlite")] == [("paint", 0)] * 2


def test_a_stroke_snaps_to_superpixels_and_with_alt_it_does_not(page):
    before = read_mask(page)
    row, column = np.argwhere(~before)[len(before) * 3] + 0.5
    page.keyboard.press("r")
    page.evaluate("() => segvote.store.radius = 1.2")
    page.keyboard.down("Alt")
    drag(page, (column, row), (column + 0.6, row))
    page.keyboard.up("Alt")
    wait_until_drawn(page, 1)
    exact = int((read_mask(page) != before).sum())
    assert 1 <= exact <= 12
    page.keyboard.press("z")
    wait_until_drawn(page, 2)
    drag(page, (column, row), (column + 0.6, row))
    wait_until_drawn(page, 3)
    assert (read_mask(page) != before).sum() != exact


def test_an_undone_stroke_disappears_at_once(page):
    held = []
    page.route("**/api/images/0/mask", lambda route: held.append(route))  # never answered
    page.keyboard.press("r")
    drag(page, (30, 30), (50, 30))
    page.wait_for_selector("#saved[data-action='1']")
    assert page.evaluate("() => segvote.countStrokes()") == 1
    page.keyboard.press("z")
    assert page.evaluate("() => segvote.countStrokes()") == 0


def test_the_image_is_panned_and_nothing_is_labelled(page, run_copy):
    for button, key in (("middle", None), ("left", " "), ("left", "Shift")):
        place = locate(page, 30, 30)
        page.mouse.move(*place)
        if key:
            page.keyboard.down(key)
        page.mouse.down(button=button)
        page.mouse.move(place[0] + 50, place[1] - 20, steps=3)
        page.mouse.up(button=button)
        if key:
            page.keyboard.up(key)
        np.testing.assert_allclose(locate(page, 30, 30), (place[0] + 50, place[1] - 20), atol=1)
    assert read_actions(run_copy / "review.sqlite") == []


def test_two_fingers_zoom_and_label_nothing(page, run_copy):
    page.keyboard.press("r")
    zoom = page.evaluate("() => segvote.getView().zoom")
    x, y = locate(page, 80, 60)
    page.evaluate(
        """([x, y]) => {
          const canvas = document.getElementById("canvas");
          canvas.setPointerCapture = () => {};
          const send = (kind, pointerId, clientX) => canvas.dispatchEvent(new PointerEvent(kind, {
            pointerId, clientX, clientY: y, pointerType: "touch", bubbles: true }));
          send("pointerdown", 1, x - 40); send("pointerdown", 2, x + 40);
          send("pointermove", 1, x - 80); send("pointermove", 2, x + 80);
          send("pointerup", 1, x - 80); send("pointerup", 2, x + 80);
        }""",
        [x, y],
    )
    assert page.evaluate("() => segvote.getView().zoom") == pytest.approx(2 * zoom, rel=0.01)
    assert read_actions(run_copy / "review.sqlite") == []


def test_the_overview_sorts_filters_and_acts_on_many(page, run_copy):
    page.keyboard.press("c")
    page.locator("#grid-filter").select_option("all")
    assert page.locator("#tiles .tile").count() == 12
    page.locator("#grid-sort").select_option("name")
    names = page.locator(".tile-name").all_inner_texts()
    assert names == sorted(names)
    page.locator("#grid-sort").select_option("area")
    areas = page.evaluate(
        "() => [...document.querySelectorAll('.tile')].map((tile) => segvote.store.images[tile.dataset.index].covered)"
    )
    assert areas == sorted(areas, reverse=True)
    page.locator("#grid-filter").select_option("with")
    page.locator("#grid-all").click()
    assert page.locator("#grid-count").inner_text() == "6 selected of 6"
    page.keyboard.press("Escape")
    page.locator(".tile-pick").nth(0).click()
    page.locator(".tile-pick").nth(2).click(modifiers=["Shift"])
    page.keyboard.press("a")
    wait_until(page, "() => segvote.store.images.filter((image) => image.accepted).length === 3")
    page.locator("#grid-filter").select_option("accepted")
    assert page.locator("#tiles .tile").count() == 3
    assert page.locator("#progress-text").inner_text() == "3 of 6 accepted"
    page.keyboard.press("z")
    wait_until(page, "() => segvote.store.images.every((image) => !image.accepted)")
    page.locator("#grid-filter").select_option("with")
    page.locator(".tile-pick").nth(0).click()
    page.locator("#grid-clear").click()
    wait_until(
        page, "() => segvote.store.images.some((image) => image.isWith && image.measured && image.covered === 0)"
    )
    page.locator(".tile-pick").nth(1).click()
    page.locator("#grid-move").click()
    wait_until(page, "() => segvote.store.images.filter((image) => image.isWith).length === 5")
    assert [one.kind for one in read_actions(run_copy / "review.sqlite")] == ["accept"] * 3 + ["undo", "paint", "move"]


def test_finish_says_how_good_the_rest_may_be(page):
    page.keyboard.press("e")
    assert "at least two" in page.locator("#estimate").inner_text()
    page.keyboard.press("Escape")
    for _ in range(4):
        page.keyboard.press("a")
    wait_until(page, "() => /4 finished images/.test(segvote.store.status.estimate)")
    page.keyboard.press("e")
    text = page.locator("#estimate").inner_text()
    assert text.startswith("Expected IoU of the other images") and "that you picked" in text
    assert page.locator(".numbers dd").all_inner_texts()[:3] == ["4", "4", "2"]


def test_a_locked_log_is_said_and_the_next_stroke_is_saved(page, run_copy):
    page.keyboard.press("r")
    holder = sqlite3.connect(run_copy / "review.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    drag(page, (30, 30), (40, 30))
    page.locator("#toast", has_text="then retry").wait_for()
    holder.execute("ROLLBACK")
    holder.close()
    drag(page, (30, 30), (40, 30))
    wait_until_drawn(page, 1)


def test_the_label_shown_is_what_the_next_stroke_says(page):
    def read_pressed():
        return page.locator("#labels button[aria-pressed=true]").inner_text()

    shown = {}
    for key in "srxli":
        page.keyboard.press(key)
        shown[key] = (read_pressed(), page.locator("#labels button[data-label=toggle]").is_enabled())
    assert shown["s"] == shown["i"] == ("Toggle", True)
    assert shown["r"] == shown["l"] == ("Object", False)
    assert shown["x"] == ("Background", False)


@pytest.fixture
def two_squares(page):
    """The mask of the image shown is two squares with a bridge between them; the list of objects is open."""
    page.evaluate(
        """async () => {
          const post = (name, message) => fetch(`api/${name}`, { method: "POST",
            headers: { "Content-Type": "application/json" }, body: JSON.stringify(message) });
          await post("clear", { bags: [0] });
          for (const [a, b, c, d] of [[20, 20, 50, 50], [80, 20, 110, 50], [50, 32, 80, 38]]) {
            await post("paint", { bag: 0, tool: "polygon", points: [a, b, c, b, c, d, a, d], radius: 1, snap: false,
              value: 1 });
          }
        }"""
    )
    wait_until_drawn(page, 4)
    page.keyboard.press("n")
    page.locator("#objects-count", has_text="1 object").wait_for()
    return page


def test_an_object_is_cut_in_two_merged_again_and_exported(two_squares, run_copy):
    page, before = two_squares, read_mask(two_squares)
    page.keyboard.press("h")
    drag(page, (65.5, 15), (65.5, 55))
    page.locator("#objects-count", has_text="2 objects").wait_for()
    areas = [int(text.split()[0]) for text in page.locator(".object-open span:not(.quiet)").all_inner_texts()]
    assert abs(areas[0] - areas[1]) <= 12 and sum(areas) == before.sum()
    np.testing.assert_array_equal(read_mask(page), before)
    zoom = page.evaluate("() => segvote.getView().zoom")
    page.locator(".object-open").nth(1).click()
    assert page.evaluate("() => segvote.getView().zoom") > zoom
    assert page.locator("#merge").is_disabled()
    page.locator(".object input").nth(0).focus()
    page.keyboard.press(" ")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press(" ")
    page.locator("#merge", has_text="Merge 2").click()
    page.locator("#objects-count", has_text="1 object").wait_for()
    page.keyboard.press("z")
    page.locator("#objects-count", has_text="2 objects").wait_for()
    assert [one.kind for one in read_actions(run_copy / "review.sqlite")][-3:] == ["cut", "join", "undo"]


def test_next_goes_on_and_undo_shows_the_image_it_changes(page):
    corrected = page.evaluate("() => segvote.store.order[0]")
    page.evaluate("(image) => segvote.go(image)", corrected)
    wait_until(page, "() => segvote.getRegions() !== null")
    page.locator("#canvas").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("b")
    wait_heard(page, 1)
    assert page.evaluate("() => segvote.store.order[0]") == corrected  # it stays as long as it is shown
    page.keyboard.press("j")
    assert page.evaluate("() => segvote.store.current === segvote.store.order[0]")
    assert page.evaluate("() => segvote.store.order[0]") != corrected  # now it is further down
    page.keyboard.press("z")
    wait_until(page, "(image) => segvote.store.current === image", corrected)
    page.locator("#toast", has_text="Undone: with/").wait_for()
