"""The short command's YOLO folder under the rules of the trainer it is for, stated here again.

Ultralytics (AGPL, needs torch) is no dependency; these are the checks that its loader makes before the first epoch.
"""

import os
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from segvote.steps.export import export

EXTENSIONS = {"bmp", "dng", "jpeg", "jpg", "mpo", "png", "tif", "tiff", "webp", "pfm", "heic"}


def find_label(picture):
    """The label file of a picture: the last folder called images becomes labels."""
    before, after = str(picture).rsplit(f"{os.sep}images{os.sep}", 1)
    return before + f"{os.sep}labels{os.sep}" + after.rsplit(".", 1)[0] + ".txt"


def read_boxes(lines, n_classes):
    """(n, 5) class and box of each line, as the loader makes them from outlines; `AssertionError` where it refuses."""
    rows = [line.split() for line in lines]
    assert not rows or any(len(row) > 6 for row in rows)  # else the lines count as boxes
    boxes = []
    for row in rows:
        points = np.array(row[1:], np.float32).reshape(-1, 2)
        low, high = points.min(axis=0), points.max(axis=0)
        boxes.append([float(row[0]), *((low + high) / 2), *(high - low)])
    found = np.array(boxes, np.float32).reshape(-1, 5)
    if len(found):
        assert found.min() >= 0 and found[:, 1:].max() <= 1
        assert found[:, 0].max() < n_classes
        assert len(np.unique(found, axis=0)) == len(found)  # it drops what is there twice
    return found


@pytest.fixture
def data(finished_run, tmp_path):
    path = export(finished_run, "yolo", tmp_path / "dataset")
    return path, yaml.safe_load(path.read_text())


def list_pictures(path, folder):
    return sorted(one for one in (path.parent / folder).rglob("*.*") if one.suffix[1:].lower() in EXTENSIONS)


def test_both_subsets_have_pictures_with_objects(data):
    path, content = data
    for subset in ("train", "val"):
        pictures = list_pictures(path, content[subset])
        assert any(Path(find_label(one)).stat().st_size for one in pictures)


def test_every_picture_has_labels_that_the_loader_accepts(data, finished_run):
    path, content = data
    pictures = [one for subset in ("train", "val") for one in list_pictures(path, content[subset])]
    assert len(pictures) == len(finished_run)
    for picture in pictures:
        with Image.open(picture) as opened:
            assert min(opened.size) > 9 and opened.format.lower() in EXTENSIONS
        read_boxes(Path(find_label(picture)).read_text().strip().splitlines(), len(content["names"]))
