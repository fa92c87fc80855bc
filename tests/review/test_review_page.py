"""The page in headless Chromium on a small run: segments, undo, tabs, a killed server, doctor, phone, contrast."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from browsing import (
    NEEDS_BROWSER,
    find_best,
    find_segment,
    get_state,
    wait_heard,
    wait_until,
)

from segvote.review.serving.server import write_redirect
from segvote.run.correction_log import Action, CorrectionLog, read_actions
from segvote.run.run import Run

pytest.importorskip("playwright.sync_api")
pytestmark = NEEDS_BROWSER


class Server:
    """`segvote review` as a process, to be killed."""

    def __init__(self, folder):
        command = [sys.executable, "-m", "segvote", "review", str(folder), "--no-browser"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        self.address = re.search(r"http://\S+", self.process.stdout.readline()).group()

    def kill(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def server(run_copy):
    server = Server(run_copy)
    yield server
    server.kill()


def test_a_click_changes_other_images_and_can_be_undone(address, open_page):
    page = open_page(address)
    current, segment = page.evaluate("() => segvote.store.current"), find_best(page)
    before = page.evaluate("() => segvote.store.images.map((image) => [...image.scores])")
    page.mouse.move(*find_segment(page, segment))
    tip = page.locator("#tip")
    tip.wait_for()
    assert f"segment {segment}" in tip.inner_text() and "object" in tip.inner_text()
    assert get_state(page, current, segment) & 4
    page.mouse.click(*find_segment(page, segment))
    wait_heard(page, 1)
    assert get_state(page, current, segment) == 1  # background, by a person's word
    after = page.evaluate("() => segvote.store.images.map((image) => [...image.scores])")
    moved = [np.abs(np.subtract(new, old)).max() for new, old in zip(after, before, strict=True)]
    assert sum(value > 1e-6 for value in moved) > 1
    page.locator("#votes .voter").first.wait_for()
    figures = [float(text.replace("−", "-")) for text in page.locator("#votes .sum dd").all_inner_texts()]
    assert sum(figures[:-1]) == pytest.approx(figures[-1], abs=3e-3)
    page.keyboard.press("z")
    wait_heard(page, 2)
    again = page.evaluate("() => segvote.store.images.map((image) => [...image.scores])")
    np.testing.assert_allclose(np.concatenate(again), np.concatenate(before), atol=1e-6)
    page.keyboard.press("Shift+Z")
    wait_heard(page, 3)
    assert get_state(page, current, segment) == 1


def test_keys_and_wheel_choose_coarser_regions(address, open_page, run_copy):
    page = open_page(address)
    current, segment = page.evaluate("() => segvote.store.current"), find_best(page)
    page.mouse.move(*find_segment(page, segment))
    page.keyboard.down("Shift")
    page.mouse.wheel(0, -120)
    wait_until(page, "() => segvote.store.level === 3")
    page.keyboard.up("Shift")
    page.keyboard.press("]")
    wait_until(page, "() => segvote.store.level === 2")
    page.keyboard.press("5")
    wait_until(page, "() => segvote.store.level === 0")
    assert page.locator("#size-text").inner_text() == "largest"
    assert page.evaluate("() => document.getElementById('size').value") == "4"
    page.mouse.click(*find_segment(page, segment))
    wait_heard(page, 1)
    said = page.evaluate("(image) => segvote.store.images[image].state.filter((state) => state & 3).length", current)
    assert said > 1
    assert read_actions(run_copy / "review.sqlite")[0].kind == "set"


def test_everything_can_be_done_with_the_keyboard(address, open_page):
    page = open_page(address)
    first = page.evaluate("() => segvote.store.current")
    wait_until(page, "() => segvote.getRegions() !== null")
    page.keyboard.press("ArrowRight")  # puts the cursor on the best segment
    segment = page.evaluate("() => segvote.getHovered()")
    page.keyboard.press("b")
    wait_heard(page, 1)
    assert get_state(page, first, segment) == 1
    page.keyboard.press("ArrowRight")
    other = page.evaluate("() => segvote.getHovered()")
    assert other != segment
    page.keyboard.press("o")
    wait_heard(page, 2)
    assert get_state(page, first, other) == 6
    page.keyboard.press("u")
    wait_heard(page, 3)
    assert get_state(page, first, other) & 3 == 0
    page.keyboard.press("v")
    page.wait_for_selector("#views button[data-view=heat][aria-pressed=true]")
    page.keyboard.press("a")
    wait_heard(page, 4)
    assert page.evaluate("() => segvote.store.current") != first
    assert page.locator("#progress-text").inner_text() == "1 of 6 accepted"
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()


def test_two_tabs_show_the_same_and_do_not_overwrite_each_other(address, open_page):
    one, two = open_page(address), open_page(address)
    bag, segment = one.evaluate("() => segvote.store.current"), find_best(one)
    one.mouse.click(*find_segment(one, segment))
    wait_heard(one, 1)
    wait_heard(two, 1)
    assert get_state(two, bag, segment) == 1
    # A tab that does not know of the last click may not undo it unseen.
    two.evaluate(
        "() => { segvote.store.status.action = 0;"
        " document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'z', bubbles: true })); }"
    )
    two.locator("#toast").wait_for()
    assert "look again" in two.locator("#toast").inner_text()
    assert get_state(one, bag, segment) == 1


def paint(page, segment):
    """A stroke of the brush from the middle of a segment of the image shown."""
    page.keyboard.press("r")
    x, y = find_segment(page, segment)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 12, y + 6, steps=4)
    page.mouse.up()


def test_a_killed_server_loses_no_click_and_no_stroke(server, open_page, run_copy):
    page = open_page(server.address)
    bag, segment = page.evaluate("() => segvote.store.current"), find_best(page)
    page.mouse.click(*find_segment(page, segment))
    page.wait_for_selector("#saved[data-action='1']")
    paint(page, 0)
    page.wait_for_selector("#saved[data-action='2']")
    server.kill()
    page.wait_for_selector("#saved.bad")
    again = Server(run_copy)
    try:
        page = open_page(again.address)
        assert get_state(page, bag, segment) == 1
        assert [action.kind for action in read_actions(run_copy / "review.sqlite")] == ["set", "paint"]
        for number in (3, 4):
            page.keyboard.press("z")
            wait_heard(page, number)
        assert get_state(page, bag, segment) & 3 == 0
    finally:
        again.kill()


def test_a_drag_paints_every_segment_it_passes_as_one_stroke(address, open_page, run_copy):
    page = open_page(address)
    bag, best = page.evaluate("() => segvote.store.current"), find_best(page)
    page.locator("#labels button[data-label='1']").click()
    (x0, y0), (x1, y1) = find_segment(page, best), find_segment(page, 0)
    page.mouse.move(x0, y0)
    page.mouse.down()
    page.mouse.move(x1, y1, steps=40)
    page.mouse.up()
    wait_heard(page, 1)
    said = page.evaluate(
        "(bag) => [...segvote.store.images[bag].state.keys()].filter("
        "(s) => (segvote.store.images[bag].state[s] & 3) === 2)",
        bag,
    )
    assert {0, best} <= set(said) and len(said) > 2
    strokes = [action for action in read_actions(run_copy / "review.sqlite") if action.kind == "set"]
    assert len(strokes) == 1 and strokes[0].value == 1
    page.keyboard.press("z")
    wait_heard(page, 2)
    assert all(get_state(page, bag, segment) & 3 == 0 for segment in said)


def test_a_click_before_the_image_is_there_labels_nothing(address, open_page, run_copy):
    page = open_page(address)
    place, last = find_segment(page, find_best(page)), page.evaluate("() => segvote.store.order.at(-1)")
    held = []
    page.route(f"**/api/images/{last}/map", lambda route: held.append(route))
    page.evaluate("(last) => segvote.go(last)", last)
    page.mouse.click(*place)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("b")
    wait_until(page, "() => segvote.getRegions() === null")
    while not held:  # requests are intercepted while something is asked of the page
        page.wait_for_timeout(20)
    assert read_actions(run_copy / "review.sqlite") == []
    held[0].continue_()
    page.mouse.click(*find_segment(page, find_best(page)))
    wait_heard(page, 1)
    assert [action.name for action in read_actions(run_copy / "review.sqlite")] == [Run(run_copy).bags[last].name]


def test_the_doctors_button_moves_a_planted_image(open_page, run_copy, serve_in_thread):
    """An image of *without* filed under *with* in the books: the doctor finds it, the button files it back."""
    run = Run(run_copy)
    planted = next(index for index, bag in enumerate(run.bags) if bag.bag_label == "without")
    log = CorrectionLog(run_copy / "review.sqlite")
    log.append(Action("move", run.bags[planted].digest, run.bags[planted].name, 1))
    log.close()
    with serve_in_thread(run_copy) as address:
        page = open_page(address)
        page.locator("#tab-doctor").click()
        flagged = page.locator("#doctor .flagged", has_text=run.bags[planted].name)
        flagged.wait_for()
        flagged.locator("button.move", has_text="Move to without").click()
        wait_heard(page, 2)
        assert page.evaluate("(bag) => segvote.store.images[bag].isWith", planted) is False
        assert "counts as without now" in page.locator("#toast").inner_text()
        page.locator("#undo").click()
        wait_heard(page, 3)
        assert page.evaluate("(bag) => segvote.store.images[bag].isWith", planted) is True
    assert run.find_image(planted).is_file()


def test_the_file_that_the_browser_is_given_leads_to_the_page(address, open_page, tmp_path):
    page = open_page(write_redirect(address, tmp_path).as_uri())
    assert page.url == address and page.context.cookies() == []


def test_three_fast_undos_are_three(address, open_page, run_copy):
    page = open_page(address)
    wait_until(page, "() => segvote.getRegions() !== null")
    assert page.locator("#hint").is_visible()
    page.locator("#canvas").focus()
    for key in ("b", "o", "b"):
        page.keyboard.press("ArrowRight")
        page.keyboard.press(key)
    for _ in range(3):
        page.keyboard.press("z")
    wait_until(page, "() => segvote.store.status.action === 6 && segvote.store.status.nUndo === 0")
    assert [action.kind for action in read_actions(run_copy / "review.sqlite")] == ["set"] * 3 + ["undo"] * 3
    for _ in range(4):  # one more than there is
        page.keyboard.press("Shift+Z")
    wait_until(page, "() => segvote.store.status.action === 9 && segvote.store.status.nRedo === 0")
    assert page.locator("#hint").is_hidden() and open_page(address).locator("#hint").is_hidden()


def test_a_phone_shows_every_tool_and_accept(address, open_page):
    page = open_page(address)
    page.set_viewport_size({"width": 360, "height": 667})
    boxes = (
        "() => [...document.querySelectorAll('.tools button, .tools input')].map((one) => one.getBoundingClientRect())"
    )
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 360 for box in page.evaluate(boxes))
    accept = page.locator("#accept").bounding_box()
    assert accept["y"] + accept["height"] <= 667
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_light_and_dark(browser, address, scheme):
    page = browser.new_page(color_scheme=scheme)
    page.goto(address)
    page.wait_for_selector("html[data-ready=yes]")
    for name in ("#image-name", "#image-facts", ".card-facts", "#tab-doctor", "#accept", "#saved"):
        assert page.evaluate(CONTRAST, name) >= 4.5, f"{name} in {scheme}"
    page.close()


# Contrast of an element's text to the first ground behind it that is not transparent, by the rule of WCAG.
CONTRAST = """(name) => {
  const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const read = (colour) => {
    context.clearRect(0, 0, 1, 1); context.fillStyle = colour; context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const straighten = (v) => (v <= 10 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = (colour) => [0.2126, 0.7152, 0.0722].reduce((sum, share, k) => sum + share * straighten(colour[k]), 0);
  const element = document.querySelector(name);
  let ground = element;
  while (ground && read(getComputedStyle(ground).backgroundColor)[3] < 255) ground = ground.parentElement;
  const a = light(read(getComputedStyle(element).color));
  const b = light(read(getComputedStyle(ground ?? document.body).backgroundColor));
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}"""
