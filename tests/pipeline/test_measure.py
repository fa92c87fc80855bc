"""The table of objects: against shapes whose measures are known."""

import csv
import sys

import cv2
import numpy as np
import pytest
from PIL import Image

import segvote
from segvote.errors import BadInputError, MissingPartError
from segvote.io.pixel_size import read_pixel_size
from segvote.pipeline.measure import COLUMNS, measure_part, write_measurements
from segvote.types import Part


def draw_bar(angle):
    """(200, 200) bool: an ellipse of half axes 60 and 15 around (100, 80), turned counter-clockwise by degrees."""
    mask = np.zeros((200, 200), np.uint8)
    cv2.ellipse(mask, (100, 80), (60, 15), -angle, 0, 360, 1, -1)
    return mask > 0


@pytest.mark.parametrize("angle", [0, 30, 90, 135])
def test_an_ellipse_has_its_own_measures(angle):
    mask = draw_bar(angle)
    image = np.zeros((200, 200, 3), np.uint8)
    image[mask] = 10, 20, 30
    [row] = measure_part(Part("bar", mask), image)
    assert row["length"] == pytest.approx(120, abs=2) and row["width"] == pytest.approx(30, abs=2)
    assert min(abs(row["orientation"] - angle), 180 - abs(row["orientation"] - angle)) < 1
    assert (row["x"], row["y"]) == pytest.approx((100, 80), abs=0.5)
    assert (row["red"], row["green"], row["blue"]) == (10, 20, 30)
    assert row["area"] == mask.sum()


def test_every_object_of_a_run_is_a_row(run_copy):
    columns = segvote.measure(run_copy)
    assert tuple(columns) == COLUMNS
    run = segvote.load_run(run_copy)
    assert run.measure() == columns
    for index, bag in enumerate(run.bags):
        areas = [area for name, area in zip(columns["image"], columns["area"], strict=True) if name == bag.name]
        assert sum(areas) == run.read_mask(index).sum()
    with (run_copy / "measurements.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["length"]) for row in rows] == columns["length"]
    assert all(row["pixel_size_mm"] == "" for row in rows)


def test_boxes_are_those_of_the_coco_file(run_copy, finished_run):
    import json

    columns = segvote.measure(run_copy)
    boxes = zip(*(columns[f"box_{name}"] for name in ("left", "top", "width", "height")), strict=True)
    coco = json.loads(finished_run.folder.coco_path.read_text())
    assert [list(box) for box in boxes] == [one["bbox"] for one in coco["annotations"]]


def test_another_extension_is_an_error(tmp_path):
    with pytest.raises(BadInputError, match=r"\.csv or \.parquet"):
        write_measurements({}, tmp_path / "table.xls")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPartError, match="pip install pyarrow"):
        write_measurements({"area": [1]}, tmp_path / "table.parquet")


def test_parquet_holds_the_same_columns(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"image": ["a", "b"], "area": [1, 2], "pixel_size_mm": [None, 0.5]}
    write_measurements(columns, tmp_path / "table.parquet")
    assert parquet.read_table(tmp_path / "table.parquet").to_pydict() == columns


@pytest.mark.parametrize(
    ("name", "options", "size"),
    [
        ("a.tif", {"dpi": (254, 254)}, 0.1),
        ("a.tif", {"dpi": (72, 72)}, 25.4 / 72),
        ("a.jpg", {"dpi": (300, 300)}, 25.4 / 300),
        ("a.jpg", {"dpi": (72, 72)}, None),
        ("a.png", {"dpi": (254, 127)}, None),
        ("a.png", {}, None),
        ("a.tif", {}, None),
        ("a.tif", {"tiffinfo": {282: 2.0, 283: 2.0, 296: 1, 270: "ImageJ=1.53\nunit=micron\n"}}, 0.0005),
        ("a.tif", {"tiffinfo": {282: 2.0, 283: 2.0, 296: 1}}, None),
    ],
)
def test_pixel_size_is_what_the_file_states(tmp_path, name, options, size):
    Image.new("RGB", (8, 6)).save(tmp_path / name, **options)
    found = read_pixel_size(tmp_path / name)
    assert found == (None if size is None else pytest.approx(size, rel=1e-3))
