"""The model click on the page in headless Chromium, with a made network whose answers are known."""

import shutil

import numpy as np
import pytest
from browsing import NEEDS_BROWSER, click, drag, locate, open_image, read_mask, wait_until, wait_until_drawn
from PIL import Image

from made_sam import make_encoder, make_levels
from segvote import annotate
from segvote.run.correction_log import read_actions
from segvote.settings import Settings

pytest.importorskip("playwright.sync_api")
pytestmark = NEEDS_BROWSER

N_IMAGES, SIZE = 4, (120, 160)
BOX, CORE = (slice(40, 88), slice(48, 112)), (slice(56, 72), slice(64, 88))
PLACE = (75, 63)  # x and y, in the core


@pytest.fixture(scope="module")
def made_run(tmp_path_factory):
    """Run on red boxes with a magenta core, and its network, which is not that of the run."""
    folder = tmp_path_factory.mktemp("boxes")
    for label in ("with", "without"):
        (folder / label).mkdir()
        for index in range(N_IMAGES):
            picture = np.random.default_rng([index, len(label)]).integers(100, 120, (*SIZE, 3)).astype(np.uint8)
            if label == "with":
                picture[BOX], picture[CORE] = (220, 30, 30), (220, 30, 220)
            Image.fromarray(picture).save(folder / label / f"{index}.png")
    settings = Settings(features="color", n_segments=30, size=160)
    annotate(folder / "with", folder / "without", folder / "run", settings, n_jobs=1)
    return folder, [make_levels(folder / "decoder.onnx"), make_encoder(folder / "encoder.onnx")]


@pytest.fixture
def run_folder(made_run, tmp_path):
    return shutil.copytree(made_run[0] / "run", tmp_path / "run")


@pytest.fixture
def page(made_run, run_folder, monkeypatch, serve_in_thread, open_page):
    """Image 0, all background, with the model tool chosen."""
    monkeypatch.setattr("segvote.features.networks.sam.find_weights", lambda name: made_run[1])
    with serve_in_thread(run_folder) as address:
        page = open_page(address)
        open_image(page)
        page.locator("#canvas").focus()
        page.keyboard.press("Shift+B")
        wait_until_drawn(page, 1)
        page.keyboard.press("Shift+P")
        yield page


def hover(page, place=PLACE):
    """Move to a place and wait for its outline."""
    page.mouse.move(*locate(page, place[0] + 0.5, place[1] + 0.5))
    wait_until(page, "(wanted) => segvote.getAnswer()?.points.join() === wanted", ",".join(map(str, place)))


def read_answer(page, level):
    """The mask that the page outlines at a level."""
    page.keyboard.press(str(level))
    found = page.evaluate(
        "() => { const { mask } = segvote.getAnswer(); return { ...mask, pixels: [...mask.pixels] }; }"
    )
    return np.array(found["pixels"], dtype=bool).reshape(found["height"], found["width"])


def test_hover_shows_part_object_and_whole(page):
    hover(page)
    part, thing, whole = (read_answer(page, level) for level in (1, 2, 3))
    assert part[CORE].mean() > 0.9 and part.sum() < 2 * part[CORE].sum()
    assert thing[BOX].mean() > 0.9 and thing.sum() < 1.3 * thing[BOX].sum()
    assert whole.all() and page.locator("#size-text").inner_text() == "whole"
    page.keyboard.press("[")
    assert page.locator("#size-text").inner_text() == "object"


def test_click_paints_what_was_shown_and_is_undone(page, run_folder):
    hover(page)
    shown = read_answer(page, 1)
    click(page, (PLACE[0] + 0.5, PLACE[1] + 0.5))
    wait_until_drawn(page, 2)
    np.testing.assert_array_equal(read_mask(page), shown)
    _, action = read_actions(run_folder / "review.sqlite")
    assert (action.kind, action.value, action.height, action.width) == ("paint", 1, *SIZE)
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    open_image(page)
    np.testing.assert_array_equal(read_mask(page), shown)
    page.keyboard.press("z")
    wait_until_drawn(page, 3)
    assert not read_mask(page).any()


def test_click_on_the_mask_removes_it(page):
    for level, action in (("2", 2), ("1", 3)):
        page.keyboard.press(level)
        hover(page)
        click(page, (PLACE[0] + 0.5, PLACE[1] + 0.5))
        wait_until_drawn(page, action)
        page.mouse.move(0, 0)
    mask = read_mask(page)
    assert mask[BOX].any() and not mask[PLACE[1], PLACE[0]]


def test_box_takes_the_object(page):
    drag(page, (44, 36), (116, 92))
    wait_until_drawn(page, 2)
    mask = read_mask(page)
    assert mask[BOX].mean() > 0.9 and mask.sum() < 1.3 * mask[BOX].sum()


def test_embeddings_are_stored_for_this_and_the_next_image(page, run_folder):
    hover(page)
    wait_until(page, "() => document.getElementById('canvas').dataset.reading === 'false'")
    hover(page, (70, 60))
    assert 1 <= len(list((run_folder / "segments").glob("*.embedding-*.npz"))) <= 2


def test_without_weights_the_tool_is_disabled(run_folder, monkeypatch, serve_in_thread, open_page):
    monkeypatch.setattr("segvote.features.networks.weights.entry_points", lambda group: [])
    with serve_in_thread(run_folder) as address:
        page = open_page(address)
        open_image(page)
        assert page.locator("[data-tool=model]").get_attribute("aria-disabled") == "true"
        page.keyboard.press("Shift+P")
        assert "pip install 'segvote[sam]'" in page.locator("#toast").inner_text()
        assert page.evaluate("() => segvote.store.tool") == "segments"
