"""Drives the page in headless Chromium: waiting, places on the screen, masks as the page shows them."""

import shutil

import numpy as np
import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# The last two: a process fewer, and no pages of the address bar, one process more for each window.
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions"),
    *("--in-process-gpu", "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,OmniboxPopup"),
]
NEEDS_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
NEEDS_BROWSER = [pytest.mark.browser, NEEDS_CHROMIUM]
PATIENCE = 180_000  # milliseconds; a busy machine is slow, not wrong
INTERVAL = 50


def wait_until(page, condition, argument=None):
    """`wait_for_function` is refused by the page's own policy; asking again and again is not."""
    for _ in range(PATIENCE // INTERVAL):
        if page.evaluate(condition, argument):
            return
        page.wait_for_timeout(INTERVAL)
    raise AssertionError(f"not within {PATIENCE} ms: {condition}")


def wait_heard(page, action):
    """Until the vote on an action has reached the page."""
    page.wait_for_selector(f"#saved[data-last-voted='{action}']")
    # The status comes first, the scores a moment later.
    wait_until(page, "() => segvote.store.version === segvote.store.status.version")


def wait_until_drawn(page, action, image=0):
    """Until the vote on an action is heard and its mask is on the screen."""
    wait_heard(page, action)
    wait_until(page, "(image) => segvote.isDrawn(image)", image)


def open_image(page, image=0):
    """Show an image, with its mask drawn."""
    page.evaluate("(image) => segvote.go(image)", image)
    wait_until(page, "(image) => segvote.getRegions() !== null && segvote.isDrawn(image)", image)


def read_mask(page, image=0):
    """The mask that the page shows."""
    shown = page.evaluate(
        "(image) => { const m = segvote.lookUpMask(image, segvote.getRegions());"
        " return { width: m.width, height: m.height, pixels: [...m.pixels] }; }",
        image,
    )
    return np.array(shown["pixels"], dtype=bool).reshape(shown["height"], shown["width"])


def locate(page, x, y):
    """Where a place of the image is on the screen."""
    column, row = page.evaluate("([x, y]) => segvote.imageToScreen(x, y)", [x, y])
    box = page.locator("#canvas").bounding_box()
    return box["x"] + column, box["y"] + row


def drag(page, *places):
    """Draw through places of the image with the pointer pressed."""
    page.mouse.move(*locate(page, *places[0]))
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*locate(page, *place), steps=8)
    page.mouse.up()


def click(page, *places):
    for place in places:
        page.mouse.click(*locate(page, *place))


def find_segment(page, segment):
    """Where a segment lies on the screen."""
    wait_until(page, "() => segvote.getRegions() !== null")
    x, y = page.evaluate("(segment) => segvote.toScreen(segment)", segment)
    box = page.locator("#canvas").bounding_box()
    return box["x"] + x, box["y"] + y


def find_best(page):
    """The segment with the highest score."""
    return page.evaluate(
        "() => { const s = segvote.store.images[segvote.store.current].scores; return s.indexOf(Math.max(...s)); }"
    )


def get_state(page, image, segment):
    return page.evaluate("([image, segment]) => segvote.store.images[image].state[segment]", [image, segment])


def write_masks(page):
    """Finish, write masks, close."""
    page.keyboard.press("e")
    page.locator("#write-masks").click()
    page.locator("#write-result", has_text="COCO").wait_for()
    page.keyboard.press("Escape")
