"""Exports opened by the other side's own code.

These packages pin versions of numpy, Pillow and OpenCV that clash with ours, so they live in an environment of their
own, into which segvote is installed too::

    make test-judges

Exports are written with the default options, as the short command does. Where a package is missing its tests are
skipped.
"""

from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np
import pytest
from mask_examples import MASKS, make_large_mask
from PIL import Image

from segvote.io import EXPORTS
from segvote.io.encodings.polygons import list_outlines
from segvote.io.encodings.rle import decode_brush, encode_brush
from segvote.io.exports.base import ExportOptions, measure_box
from segvote.io.exports.index_pictures import CITYSCAPES_IDS
from segvote.types import Annotation, Part

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the judges' own warnings are not ours to mend


@pytest.fixture
def annotations(tmp_path):
    """Every example mask with a picture on disk."""
    (tmp_path / "pictures").mkdir()
    made = []
    for name, mask in {**MASKS, "large": make_large_mask()}.items():
        path = tmp_path / "pictures" / f"{name}.jpg"
        Image.new("RGB", mask.shape[::-1]).save(path)
        made.append(Annotation(f"{name}.jpg", *mask.shape, (Part("car", mask, 0.5),), image_path=path))
    return made


def assert_same(found, annotations):
    assert found.keys() == {PurePosixPath(annotation.name).stem for annotation in annotations}
    for annotation in annotations:
        name = PurePosixPath(annotation.name).stem
        np.testing.assert_array_equal(found[name], annotation.parts[0].mask, err_msg=name)


# Label Studio


@pytest.mark.parametrize("name", [*MASKS, "large"])
def test_label_studio_reads_our_brush_and_writes_the_same_bytes(name):
    brush = pytest.importorskip("label_studio_sdk.converter.brush")
    mask = MASKS[name] if name in MASKS else make_large_mask()[::4, ::4]
    stream = encode_brush(mask)
    values = brush.decode_rle(stream).reshape(*mask.shape, 4)
    np.testing.assert_array_equal(values, np.repeat(mask[..., None] * 255, 4, axis=2))
    theirs = brush.mask2rle(mask.astype(np.uint8) * 255)
    assert theirs == stream
    np.testing.assert_array_equal(decode_brush(theirs, *mask.shape), mask)


# Datumaro, which also reads other formats


def read_by_datumaro(folder, format_):
    datumaro = pytest.importorskip("datumaro")
    dataset = datumaro.Dataset.import_from(str(folder), format_)
    found = {}
    for item in dataset:
        assert PurePosixPath(item.id).name not in found, "an item is there twice"
        height, width = item.media.size
        masks = [_find_mask(shape, height, width) for shape in item.annotations if _is_object(shape, dataset)]
        found[PurePosixPath(item.id).name] = np.any([np.zeros((height, width), bool), *masks], axis=0)
    return found


def _is_object(shape, dataset):
    names = [label.name for label in dataset.categories()[_find_type("label")].items]
    return shape.type in (_find_type("mask"), _find_type("polygon")) and names[shape.label] == "car"


def _find_type(name):
    return pytest.importorskip("datumaro").AnnotationType[name]


def _find_mask(shape, height, width):
    if shape.type == _find_type("polygon"):
        from pycocotools import mask as coco_mask

        return coco_mask.decode(coco_mask.merge(coco_mask.frPyObjects([shape.points], height, width))).astype(bool)
    return np.asarray(shape.image).astype(bool)


@pytest.mark.parametrize(
    ("format_", "name", "polygons"),
    [
        ("cityscapes", "cityscapes", False),
        ("coco", "coco", False),
        ("coco", "coco", True),
        ("cvat", "cvat", False),
        ("datumaro", "datumaro", False),
        ("datumaro", "datumaro", True),
        ("voc", "voc", False),
        ("voc", "voc_segmentation", False),
    ],
)
def test_datumaro_reads_our_exports(tmp_path, annotations, format_, name, polygons):
    path = EXPORTS[format_](annotations, tmp_path / "out", ExportOptions(("car",), polygons=polygons))
    found = read_by_datumaro(path, name)
    assert_same({key.removeprefix("segvote_").removesuffix("_000000"): found[key] for key in found}, annotations)


def test_the_official_tools_know_our_numbers_and_file_names(tmp_path):
    helpers = pytest.importorskip("cityscapesscripts.helpers.csHelpers")
    names = pytest.importorskip("cityscapesscripts.helpers.labels")
    assert {name: names.name2label[name].id for name in CITYSCAPES_IDS} == CITYSCAPES_IDS
    annotation = Annotation("a_b/c_d.jpg", 2, 3, (Part("car", np.ones((2, 3), bool)),))
    folder = EXPORTS["cityscapes"]([annotation], tmp_path, ExportOptions(("car",), images="none"))
    for path in sorted(folder.rglob("*.png")):
        info = helpers.getCsFileInfo(str(path))
        assert (info.city, info.sequenceNb, info.frameNb, info.type) == ("segvote", "c-d", "000000", "gtFine")


# YOLO, in the two layouts that readers of one folder know


def write_yolo(annotations, folder, **options):
    EXPORTS["yolo"](annotations, folder, ExportOptions(labels=("car",), **options))
    return ["train", "val"] if options.get("val_share") else [""]


@pytest.mark.parametrize("val_share", [0, 0.2])
def test_supervision_reads_our_yolo_folder(tmp_path, annotations, val_share):
    supervision = pytest.importorskip("supervision")
    square = np.zeros((40, 60), bool)
    square[10:30, 20:50] = True
    # Two folders with an image of the same name, one of them without the object.
    copies = [replace(annotations[0], name=f"{name}/a.jpg", height=40, width=60, parts=()) for name in ("with", "no")]
    Image.new("RGB", (60, 40)).save(annotations[0].image_path)
    copies[0] = replace(copies[0], parts=(Part("car", square),))
    parts = write_yolo(copies * 5, tmp_path / "out", val_share=val_share)
    n_images, masks = 0, []
    for part in parts:
        folders = [str(tmp_path / "out" / kind / part) for kind in ("images", "labels")]
        read = supervision.DetectionDataset.from_yolo(*folders, str(tmp_path / "out/data.yaml"), force_masks=True)
        n_images += len(read)
        masks += [mask for _, _, found in read for mask in (found.mask if found.mask is not None else ())]
    assert (n_images, len(masks)) == (10, 5)
    for mask in masks:  # it also draws the outline: a row and a column more
        assert (mask & square).sum() == square.sum()
        assert mask.sum() <= 21 * 31


@pytest.mark.parametrize("val_share", [0, 0.2])
def test_datumaro_reads_the_boxes_of_our_yolo_folder(tmp_path, annotations, val_share):
    datumaro = pytest.importorskip("datumaro")
    write_yolo(annotations, tmp_path / "out", boxes=True, val_share=val_share)
    items = list(datumaro.Dataset.import_from(str(tmp_path / "out"), "yolo"))
    found = {item.id: [shape.get_bbox() for shape in item.annotations] for item in items}
    assert {item.subset for item in items} == ({"train", "val"} if val_share else {"default"})
    for annotation in annotations:
        mask = annotation.parts[0].mask
        expected = [measure_box(mask)] if mask.any() else []
        np.testing.assert_allclose(found.pop(PurePosixPath(annotation.name).stem), expected, atol=1e-3)
    assert found == {}


# Hugging Face


def test_datasets_loads_our_image_folder(tmp_path, annotations, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    loader = pytest.importorskip("datasets.load")  # "datasets" alone may be the folder of our own tests
    folder = EXPORTS["hf"](annotations, tmp_path / "out", ExportOptions(("car",)))
    read = loader.load_dataset("imagefolder", data_dir=str(folder), cache_dir=str(tmp_path / "cache"))
    assert set(read) == {"train", "validation"}
    found = [(row["image"].size, np.array(row["mask"])) for subset in read.values() for row in subset]
    assert sorted(mask.shape for _, mask in found) == sorted(one.parts[0].mask.shape for one in annotations)
    assert all(size == mask.shape[::-1] for size, mask in found)
    expected = [one.parts[0].mask for one in annotations]
    assert sorted((mask == 1).tobytes() for _, mask in found) == sorted(mask.tobytes() for mask in expected)


# supervision


@pytest.mark.parametrize("subset", ["train", "val"])
def test_supervision_reads_our_coco_folder(tmp_path, annotations, subset):
    supervision = pytest.importorskip("supervision")
    folder = EXPORTS["coco"](annotations, tmp_path / "out", ExportOptions(("car",)))
    paths = (folder / "images" / subset, folder / f"annotations/instances_{subset}.json")
    read = supervision.DetectionDataset.from_coco(*map(str, paths), force_masks=True)
    masks = {PurePosixPath(one.name).name: one.parts[0].mask for one in annotations}
    for path, _, found in read:
        expected = masks.pop(PurePosixPath(path).name)
        shown = found.mask if found.mask is not None else np.zeros((1, *expected.shape), bool)
        np.testing.assert_array_equal(np.any(shown, axis=0) if len(shown) else np.zeros_like(expected), expected)
    assert len(masks) < len(annotations)


# labelme


@pytest.mark.parametrize("polygons", [False, True])
def test_labelme_opens_our_files(tmp_path, annotations, polygons):
    label_file = pytest.importorskip("labelme._label_file")
    shape_tools = pytest.importorskip("labelme.utils.shape")
    folder = EXPORTS["labelme"](annotations, tmp_path / "out", ExportOptions(("car",), polygons=polygons))
    for annotation in annotations:
        data = label_file.read_label_file(str((folder / annotation.name).with_suffix(".json")))
        shape = (annotation.height, annotation.width)
        found, _ = shape_tools.shapes_to_label(shape, data.shapes, {"car": 1})
        if not polygons:  # its own filling of polygons draws half a pixel more around them
            np.testing.assert_array_equal(found == 1, annotation.parts[0].mask)


# FiftyOne: its importers, which need no database; a data set of it needs MongoDB


@pytest.fixture
def fiftyone(monkeypatch, tmp_path):
    monkeypatch.setenv("FIFTYONE_DISABLE_SERVICES", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    return pytest.importorskip("fiftyone")


def _place_detections(labels, size):
    for one in labels.detections if labels else []:
        mask, (x, y) = np.zeros(size, bool), one.bounding_box[:2]
        left, top = round(x * size[1]), round(y * size[0])
        mask[top : top + one.mask.shape[0], left : left + one.mask.shape[1]] = one.mask
        yield mask


def test_fiftyone_reads_our_coco_folder(tmp_path, annotations, fiftyone):
    coco = pytest.importorskip("fiftyone.utils.coco")
    folder, found = EXPORTS["coco"](annotations, tmp_path / "out", ExportOptions(("car",))), {}
    for subset in ("train", "val"):
        paths = {
            "data_path": folder / "images" / subset,
            "labels_path": folder / f"annotations/instances_{subset}.json",
        }
        importer = coco.COCODetectionDatasetImporter(
            **{name: str(path) for name, path in paths.items()}, label_types="segmentations"
        )
        with importer:
            for path, metadata, labels in importer:
                size = (metadata.height, metadata.width) if metadata else Image.open(path).size[::-1]
                masks = [np.zeros(size, bool), *_place_detections(labels, size)]
                found[PurePosixPath(path).stem] = np.any(masks, axis=0)
    assert_same(found, annotations)


def test_fiftyone_reads_our_yolo_folder(tmp_path, annotations, fiftyone):
    yolo = pytest.importorskip("fiftyone.utils.yolo")
    write_yolo(annotations, tmp_path / "out", val_share=0.2)
    found = {}
    for subset in ("train", "val"):
        importer = yolo.YOLOv5DatasetImporter(
            yaml_path=str(tmp_path / "out/data.yaml"), split=subset, label_type="polylines"
        )
        with importer:
            for path, _, labels in importer:
                lines = labels.polylines if labels else []
                assert all(line.label == "car" and line.filled and line.closed for line in lines)
                found[PurePosixPath(path).stem] = len(lines)
    n_regions = {PurePosixPath(one.name).stem: len(list_outlines(one.parts[0].mask)) for one in annotations}
    assert found == n_regions
