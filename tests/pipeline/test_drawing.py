"""The way of drawing is chosen once per run, by its images, and used by everything that draws."""

import json
from dataclasses import replace

import cv2
import numpy as np
import pytest
from PIL import Image

from segvote import annotate, predict
from segvote.errors import DamagedFileError, UnknownNameError
from segvote.review.engine import Engine
from segvote.run.run import Run
from segvote.settings import Settings

QUICK = Settings(features="color", n_segments=30, size=120)


def write_surfaces(folder, n_images, draw):
    """Mottled grey surfaces of 320 x 240 pixels, the *with* ones with what `draw` adds."""
    for name in ("with", "without"):
        (folder / name).mkdir(parents=True)
        for index in range(n_images):
            rng = np.random.default_rng([index, name == "with"])
            surface = 150 + cv2.GaussianBlur(rng.normal(0, 400, (240, 320)), (0, 0), 8.0)
            if name == "with":
                draw(surface, rng)
            Image.fromarray(surface.clip(0, 255).astype(np.uint8)).save(folder / name / f"{index}.png")


def crack(surface, rng):
    points = np.stack([np.arange(0, 321, 20), 120 + np.cumsum(rng.normal(0, 6, 17))], axis=1)
    cv2.polylines(surface, [points.round().astype(np.int32)], False, 70.0, 2)


def blot(surface, rng):
    cv2.circle(surface, (int(rng.integers(100, 220)), int(rng.integers(90, 150))), 56, 20.0, -1)


@pytest.fixture(scope="module")
def cracked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cracked")
    write_surfaces(folder, 6, crack)
    annotate(folder / "with", folder / "without", folder / "run", QUICK, n_jobs=2)
    return folder


def test_cracks_are_drawn_as_lines_and_the_record_says_why(cracked):
    run = Run(cracked / "run")
    assert run.drawing.way == "lines" and run.drawing.filter[:2] == (0, -1)
    assert "longer than wide" in run.drawing.reason
    assert max(bag.area for bag in run.bags) < 0.06


def test_wide_objects_are_drawn_as_regions(tmp_path):
    write_surfaces(tmp_path, 5, blot)
    run = annotate(tmp_path / "with", tmp_path / "without", tmp_path / "run", QUICK)
    assert run.drawing.way == "regions" and "wide" in run.drawing.reason


def test_the_way_that_was_asked_for_is_taken(cracked, tmp_path):
    folders = cracked / "with", cracked / "without", tmp_path / "run"
    for way in ("regions", "segments", "lines"):
        run = annotate(*folders, replace(QUICK, draw=way), n_jobs=1)
        assert run.drawing.way == way and run.drawing.reason == "chosen by the user"
    with pytest.raises(UnknownNameError, match="auto, regions, lines, segments"):
        annotate(*folders, replace(QUICK, draw="dots"))
    by_processes = Run(cracked / "run")
    assert annotate(*folders, QUICK, n_jobs=1).drawing == by_processes.drawing


def test_prediction_draws_in_the_way_of_the_run(cracked, tmp_path):
    run = Run(cracked / "run")
    found = predict(cracked / "run", cracked / "with", tmp_path / "new", false_positive_rate=0.4, n_jobs=1)
    drawn = [found.read_mask(index).mean() for index, one in enumerate(found.images) if one.contains]
    assert drawn and max(drawn) < 2 * max(bag.area for bag in run.bags)


def test_the_page_draws_the_masks_of_the_files(cracked):
    run = Run(cracked / "run")
    engine = Engine(run)
    assert all(np.array_equal(engine.masks.draw_mask(bag), run.read_mask(bag)) for bag in range(len(run)))


def test_a_damaged_drawing_is_named(cracked, tmp_path):
    path = cracked / "run/model/drawing.json"
    whole = path.read_text()
    record = json.loads(whole)
    try:
        for change in ({"way": "auto"}, {"filter": [0, 1, 77]}, {"low": "x"}):
            path.write_text(json.dumps({**record, "drawing": {**record["drawing"], **change}}))
            with pytest.raises(DamagedFileError, match="drawing"):
                _ = Run(cracked / "run").drawing
    finally:
        path.write_text(whole)
