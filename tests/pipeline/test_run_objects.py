"""Single objects from the vote to the files: clusters of dark discs on a grey surface."""

import json
from collections import Counter
from contextlib import closing
from dataclasses import replace

import cv2
import numpy as np
import pytest
from PIL import Image

from segvote import annotate, export, predict, update
from segvote.errors import UnknownNameError
from segvote.io.encodings.rle import encode_rle
from segvote.masks.objects import label_objects
from segvote.pipeline.extent import draw_extent
from segvote.review.engine import Engine
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.run import Run
from segvote.settings import Settings

QUICK = Settings(features="color", n_segments=80, size=240)
N_IMAGES, N_DISCS = 5, 8


@pytest.fixture(scope="module")
def clustered(tmp_path_factory):
    """A run on images of four pairs of touching discs, and its folders."""
    folder = tmp_path_factory.mktemp("clustered")
    for name in ("with", "without"):
        (folder / name).mkdir()
        for index in range(N_IMAGES):
            rng = np.random.default_rng([index, name == "with"])
            surface = 150 + cv2.GaussianBlur(rng.normal(0, 200, (240, 320)), (0, 0), 8.0)
            for number in range(N_DISCS if name == "with" else 0):
                left, top = 70 + 140 * (number // 4) + 40 * (number % 2), 60 + 100 * (number // 2 % 2)
                cv2.circle(surface, (left + index, top), 22, 20.0, -1)
            Image.fromarray(surface.clip(0, 255).astype(np.uint8)).save(folder / name / f"{index}.png")
    annotate(folder / "with", folder / "without", folder / "run", QUICK, n_jobs=1)
    return folder


def count_entries(path):
    """Entries of each image of a COCO file that has some."""
    return sorted(Counter(one["image_id"] for one in json.loads(path.read_text())["annotations"]).values())


def test_touching_discs_are_found_and_split(clustered):
    run = Run(clustered / "run")
    assert run.drawing.objects == "touching" and "clusters" in run.drawing.objects_reason
    assert run.drawing.typical_piece > 0
    assert count_entries(run.folder.coco_path) == [N_DISCS] * N_IMAGES


def test_boxes_are_those_of_single_discs(clustered):
    coco = json.loads((clustered / "run/annotations.coco.json").read_text())
    assert all(30 < side < 60 for one in coco["annotations"] for side in one["bbox"][2:])


def test_page_export_and_prediction_have_the_same_objects(clustered, tmp_path):
    run = Run(clustered / "run")
    engine = Engine(run)
    counts = [engine.masks.label_instances(bag).max() for bag in range(len(run))]
    assert counts == [N_DISCS] * N_IMAGES + [0] * N_IMAGES
    path = export(run, "coco", tmp_path / "coco", val_share=0)
    assert count_entries(path) == [N_DISCS] * N_IMAGES
    export(run, "yolo", tmp_path / "yolo", val_share=0)
    lines = [len(one.read_text().splitlines()) for one in (tmp_path / "yolo/labels").glob("*.txt")]
    assert sorted(lines) == [0] * N_IMAGES + [N_DISCS] * N_IMAGES
    found = predict(clustered / "run", clustered / "with", tmp_path / "new", false_positive_rate=0.4, n_jobs=1)
    assert set(count_entries(found.path / "annotations.coco.json")) == {N_DISCS}


def test_the_kind_that_was_asked_for_is_taken(clustered, tmp_path):
    folders = clustered / "with", clustered / "without", tmp_path / "run"
    for objects, count in (("one", 1), ("pieces", N_DISCS // 2), ("touching", N_DISCS)):
        run = annotate(*folders, replace(QUICK, objects=objects), n_jobs=1)
        assert run.drawing.objects == objects
        assert count_entries(run.folder.coco_path) == [count] * N_IMAGES
    with pytest.raises(UnknownNameError, match="auto, one, touching, pieces"):
        annotate(*folders, replace(QUICK, objects="many"))


def test_masks_of_every_extent_have_no_specks(clustered):
    run = Run(clustered / "run")
    for extent in range(1, 7):
        mask = draw_extent(run, 0, extent)
        areas = np.bincount(label_objects(mask, "pieces").ravel())[1:]
        assert len(areas) and areas.min() >= 0.02 * min(areas.max(), run.drawing.typical_piece * mask.size)


def test_painted_specks_hold(clustered, tmp_path):
    folders = clustered / "with", clustered / "without", tmp_path / "run"
    run = annotate(*folders, QUICK, n_jobs=1)
    speck = np.zeros((240, 320), dtype=bool)
    speck[5:7, 5:7] = True
    bag = run.bags[0]
    painted = Action("paint", bag.digest, bag.name, 1, 240, 320, encode_rle(speck)["counts"])
    with closing(CorrectionLog(run.folder.corrections_path)) as log:
        log.append(painted)
    again = update(run.folder.path, n_jobs=1)
    assert again.read_mask(0)[speck].all()
    assert Engine(again).masks.draw_mask(0)[speck].all()
