"""Corrections on any frame of a video, by the engine and in headless Chromium."""

import shutil

import numpy as np
import pytest
from browsing import NEEDS_CHROMIUM, find_segment, wait_heard, wait_until
from PIL import Image
from waiting import wait_for

from segvote import annotate
from segvote.errors import BadInputError
from segvote.io.video.files import open_film_writer
from segvote.review.engine import Engine
from segvote.review.finishing import export_run
from segvote.run.correction_log import read_actions
from segvote.run.run import Run
from segvote.run.videos import list_frame_annotations
from segvote.settings import Settings

HEIGHT, WIDTH, N_FRAMES = 72, 96, 10
SETTINGS = Settings(features="color", n_segments=20, size=96)


def make_frames(seed, shows_object):
    """A red square walks over a ground of blue and green blocks; the last frames are another take, on other ground."""
    rng = np.random.default_rng(seed)
    blocks = rng.integers(40, 200, (2, HEIGHT // 12, WIDTH // 12, 3)) * [0.2, 1, 1]
    grounds = blocks.repeat(12, axis=1).repeat(12, axis=2).astype(np.uint8)
    for number in range(N_FRAMES):
        frame = grounds[int(number >= N_FRAMES - 4)].copy()
        if shows_object:
            frame[24:48, 12 + 4 * number : 36 + 4 * number] = [220, 20, 20]
        yield frame


@pytest.fixture(scope="module")
def video_run(tmp_path_factory):
    root = tmp_path_factory.mktemp("videos")
    for place, seed, shows in (("with/v0", 0, True), ("with/v1", 1, True), ("without/n0", 10, False)):
        (root / place).mkdir(parents=True)
        for number, frame in enumerate(make_frames(seed, shows)):
            Image.fromarray(frame).save(root / place / f"{number:05d}.png")
    with open_film_writer(root / "without/n1.mp4") as writer:
        for number, frame in enumerate(make_frames(11, False)):
            writer.write(frame, number / 25)
    return annotate(root / "with", root / "without", root / "out", SETTINGS, n_jobs=1)


@pytest.fixture
def copy(video_run, tmp_path):
    shutil.copytree(video_run.folder.path, tmp_path / "run")
    return Run(tmp_path / "run")


@pytest.fixture
def engine(copy):
    engine = Engine(copy)
    engine.start()
    yield engine
    engine.stop()


def test_a_segment_is_labelled_on_another_frame(engine, copy):
    bag = copy.find("with/v0")
    wait_for(engine, 0)
    shown = set(engine.frames.read_labels(bag, -1).ravel().tolist())
    maps = {frame: engine.frames.read_labels(bag, frame) for frame in engine.frames.list_numbers(bag)}
    frame, segment = next(
        (frame, segment) for frame, labels in maps.items() for segment in sorted({*labels.ravel().tolist()} - shown)
    )
    with pytest.raises(BadInputError, match="other frames"):
        engine.actions.set_segments(bag, [segment], 1)
    after = wait_for(engine, engine.actions.set_segments(bag, [segment], 1, frame))
    assert after.user_labels[after.get_slice(bag)][segment] == 1
    assert read_actions(copy.folder.corrections_path)[0].frame in copy.read_segments(bag)["key_indices"]
    written = export_run(engine.settle())
    annotations = list_frame_annotations(written.folder, written.bags[bag], written.find_source(bag), "object")
    for labels, annotation in zip(maps.values(), annotations, strict=True):  # in every frame that it is carried to
        mask = annotation.parts[0].mask if annotation.parts else np.zeros((HEIGHT, WIDTH), bool)
        assert mask[labels == segment].all()
    inputs = written.inputs
    record = written.folder.record_path.read_bytes()
    annotate(inputs.with_folder, inputs.without_folder, written.folder.path, SETTINGS, n_jobs=1)
    assert written.folder.record_path.read_bytes() == record  # `annotate` would have written the same


@pytest.mark.parametrize("name", ["with/v0", "without/n1.mp4"])
def test_pictures_of_frames_come_from_folders_and_films(engine, copy, name):
    bag = copy.find(name)
    pictures = {engine.frames.get_picture(bag, frame) for frame in (0, N_FRAMES - 1)}
    assert len(pictures) == 2 and all(picture.startswith(b"\xff\xd8") for picture in pictures)


def test_a_frame_that_the_video_does_not_have_is_refused(engine, copy):
    with pytest.raises(BadInputError, match="0 to 9"):
        engine.frames.get_picture(copy.find("with/v0"), 99)


def test_pixels_and_objects_of_videos_are_rejected(engine, copy):
    bag, line = copy.find("with/v0"), [5.0, 5.0, 60.0, 60.0]
    for act in (
        lambda: engine.actions.paint(bag, "brush", line, 1),
        lambda: engine.actions.take(bag, line, 2, 1),
        lambda: engine.actions.cut(bag, line),
        lambda: engine.actions.join(bag, line),
        lambda: engine.masks.label_instances(bag),
    ):
        with pytest.raises(BadInputError, match="by segments"):
            act()
    assert read_actions(copy.folder.corrections_path) == []


@NEEDS_CHROMIUM
@pytest.mark.browser
def test_the_page_goes_through_the_frames_and_corrects_one(copy, open_page, serve_in_thread):
    bag = copy.find("with/v0")
    with serve_in_thread(copy.folder.path) as address:
        page = open_page(address)
        page.evaluate("(bag) => segvote.go(bag)", bag)
        page.locator("#frames").wait_for()
        page.locator("#frame-slider").fill(str(N_FRAMES - 1))
        page.locator("#frame-text", has_text=f"frame {N_FRAMES - 1} of {N_FRAMES - 1}").wait_for()
        wait_until(page, "() => segvote.getRegions()?.segmentAt(12, 60) >= 0")
        segment = page.evaluate("() => segvote.getRegions().segmentAt(12, 60)")
        page.mouse.click(*find_segment(page, segment))
        wait_heard(page, 1)
        (action,) = read_actions(copy.folder.corrections_path)
        assert (action.kind, action.frame) == ("set", N_FRAMES - 1)  # the last frame is always a key frame
        page.locator("#canvas").focus()
        page.keyboard.press("<")
        page.locator("#frame-text", has_text=f"frame {N_FRAMES - 2} of").wait_for()
        for key in (*"rxlih", "Shift+P"):  # tools of pixels and objects
            page.keyboard.press(key)
            page.locator("#toast", has_text="corrected by segments").wait_for()
            assert page.evaluate("() => segvote.store.tool") == "segments"
            page.evaluate("() => { document.getElementById('toast').textContent = ''; }")
        page.keyboard.press("n")
        page.locator("#objects", has_text="cannot be cut or merged").wait_for()
