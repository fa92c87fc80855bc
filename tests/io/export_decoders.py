"""Readers of every export format that share no code with the writers: the other side, as its documentation has it."""

import base64
import csv
import io
import json
import re
from pathlib import PurePosixPath
from xml.etree import ElementTree

import numpy as np
import yaml
from cvat_sdk.masks import decode_mask
from PIL import Image
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO

from segvote.io.encodings.rle import decode_brush


def fill_by_coco(rings, height, width):
    """Union of flat rings, by pycocotools."""
    if not rings:
        return np.zeros((height, width), bool)
    return coco_mask.decode(coco_mask.merge(coco_mask.frPyObjects(rings, height, width))).astype(bool)


def read_picture(path, mode="L"):
    """Pixels of a picture, whose mode is checked."""
    with Image.open(path) as picture:
        assert picture.mode == mode
        return np.array(picture)


def join(masks, height, width):
    return np.any([np.zeros((height, width), bool), *masks], axis=0)


def decode_coco(folder):
    coco = COCO(folder / "annotations/instances_default.json")
    found = {}
    for image in coco.dataset["images"]:
        masks = [coco.annToMask(record).astype(bool) for record in coco.imgToAnns[image["id"]]]
        found[image["file_name"]] = join(masks, image["height"], image["width"])
    return found


def parse_yolo_line(line, n_classes):
    """Class and points of a line, checked against the format."""
    number, *values = line.split(" ")
    assert re.fullmatch(r"\d+", number) and int(number) < n_classes
    points = np.array([float(value) for value in values])
    assert len(points) % 2 == 0 and len(points) >= 6
    assert points.min() >= 0 and points.max() <= 1
    return int(number), points.reshape(-1, 2)


def decode_yolo(folder, sizes):
    data = yaml.safe_load((folder / "data.yaml").read_text())
    assert data["train"] == "images"
    assert list(data["names"]) == list(range(len(data["names"])))
    found = {}
    for name, (height, width) in sizes.items():
        lines = (folder / "labels" / PurePosixPath(name).name).with_suffix(".txt").read_text().splitlines()
        parsed = [parse_yolo_line(line, len(data["names"])) for line in lines]
        rings = [np.round(points * [width, height]).ravel().tolist() for _, points in parsed]
        found[name] = fill_by_coco(rings, height, width)
    return found


def decode_voc(folder, sizes):
    stems = (folder / "ImageSets/Segmentation/train.txt").read_text().splitlines()
    found = {}
    for name in sizes:
        stem = PurePosixPath(name).stem
        assert stem in stems
        found[name] = read_picture(folder / f"SegmentationClass/{stem}.png", "P") == 1
        with Image.open(folder / f"SegmentationObject/{stem}.png") as picture:
            assert picture.getpalette()[:12] == [0, 0, 0, 128, 0, 0, 0, 128, 0, 128, 128, 0]
            np.testing.assert_array_equal(np.array(picture) > 0, found[name])
    return found


def check_labelme(data):
    """The checks labelme makes when it opens a file."""
    assert isinstance(data["imagePath"], str) and data["imageData"] is None
    for shape in data["shapes"]:
        assert isinstance(shape["label"], str) and shape["label"]
        assert shape["points"] and all(len(point) == 2 for point in shape["points"])
        assert shape["shape_type"] in ("mask", "polygon")
        assert shape["flags"] == {} and isinstance(shape["description"], str)
        assert isinstance(shape["group_id"], int)
        assert len(shape["points"]) == 2 if shape["shape_type"] == "mask" else len(shape["points"]) > 2


def fill_labelme(shape, height, width):
    if shape["shape_type"] == "polygon":
        return fill_by_coco([np.array(shape["points"], float).ravel().tolist()], height, width)
    mask = np.zeros((height, width), bool)
    (left, top), (right, bottom) = shape["points"]
    with Image.open(io.BytesIO(base64.b64decode(shape["mask"]))) as picture:
        mask[top : bottom + 1, left : right + 1] = np.array(picture).astype(bool)
    return mask


def decode_labelme(folder, sizes):
    found = {}
    for name, (height, width) in sizes.items():
        data = json.loads((folder / name).with_suffix(".json").read_text())
        check_labelme(data)
        assert (data["imageHeight"], data["imageWidth"]) == (height, width)
        found[name] = join([fill_labelme(shape, height, width) for shape in data["shapes"]], height, width)
    return found


def decode_label_studio(folder):
    config = ElementTree.parse(folder / "config.xml").getroot()
    found = {}
    for task in json.loads((folder / "tasks.json").read_text()):
        (prediction,) = task["predictions"]
        height, width = task["data"]["height"], task["data"]["width"]
        masks = []
        for result in prediction["result"]:
            assert config.find(f"*[@name='{result['from_name']}']") is not None
            assert (result["original_height"], result["original_width"]) == (height, width)
            masks.append(fill_label_studio(result["value"], height, width))
        found[task["data"]["name"]] = join(masks, height, width)
    return found


def fill_label_studio(value, height, width):
    if value.get("format") == "rle":
        return decode_brush(value["rle"], height, width)  # judged by Label Studio's own code in test_export_judges
    points = np.round(np.array(value["points"]) * [width / 100, height / 100])
    return fill_by_coco([points.ravel().tolist()], height, width)


def decode_cvat(folder):
    root = ElementTree.parse(folder / "annotations.xml").getroot()
    assert root.findtext("version") == "1.1"
    labels = {label.findtext("name") for label in root.iterfind("meta/task/labels/label")}
    found = {}
    for image in root.iterfind("image"):
        height, width = int(image.get("height")), int(image.get("width"))
        assert {shape.get("label") for shape in image} <= labels
        found[image.get("name")] = join([fill_cvat(shape, height, width) for shape in image], height, width)
    return found


def fill_cvat(shape, height, width):
    if shape.tag == "polygon":
        ring = [float(value) for pair in shape.get("points").split(";") for value in pair.split(",")]
        return fill_by_coco([ring], height, width)
    left, top, n_columns, n_rows = (int(shape.get(key)) for key in ("left", "top", "width", "height"))
    counts = [int(count) for count in shape.get("rle").split(",")]
    corners = [left, top, left + n_columns - 1, top + n_rows - 1]
    return decode_mask([*counts, *corners], image_width=width, image_height=height)


def decode_cityscapes(folder, sizes):
    found = {}
    for name in sizes:
        stem = PurePosixPath(name).stem.replace("_", "-")
        base = folder / f"gtFine/train/segvote/segvote_{stem}_000000_gtFine"
        assert len(base.name.split("_")) == 4
        found[name] = read_picture(f"{base}_labelIds.png") == 26
        np.testing.assert_array_equal(read_picture(f"{base}_instanceIds.png", "I;16") // 1000 == 26, found[name])
        np.testing.assert_array_equal(read_picture(f"{base}_labelTrainIds.png") == 1, found[name])
    return found


def decode_datumaro(folder):
    data = json.loads((folder / "annotations/default.json").read_text())
    found = {}
    for item in data["items"]:
        height, width = item["image"]["size"]
        masks = [
            coco_mask.decode(shape["rle"]).astype(bool)
            if shape["type"] == "mask"
            else fill_by_coco([shape["points"]], height, width)
            for shape in item["annotations"]
        ]
        found[item["image"]["path"]] = join(masks, height, width)
    return found


def decode_hf(folder, sizes):
    assert json.loads((folder / "id2label.json").read_text()) in ({"0": "background", "1": "car"}, {"0": "background"})
    rows = [json.loads(line) for line in (folder / "train/metadata.jsonl").read_text().splitlines()]
    found = {}
    for name, row in zip(sizes, rows, strict=True):
        assert PurePosixPath(row["mask_file_name"]).stem == PurePosixPath(name).stem
        found[name] = read_picture(folder / "train" / row["mask_file_name"]) == 1
    return found


def decode_png(folder, sizes):
    with (folder / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = {}
    for name in sizes:
        found[name] = read_picture((folder / name).with_suffix(".png")) == 255
        assert sum(int(row["area"]) for row in rows if row["image"] == name) == found[name].sum()
    return found


def decode(format_, folder, sizes):
    """Name to (h, w) bool of everything an export holds."""
    decoder = globals()[f"decode_{format_.replace('-', '_')}"]
    return decoder(folder) if format_ in ("coco", "cvat", "datumaro", "label-studio") else decoder(folder, sizes)
