"""Truth of every kind ends as the same masks and boxes."""

import json

import numpy as np
import pytest
import skimage.data
from PIL import Image, ImageDraw

from segvote.errors import BadInputError
from segvote.evaluation.truth import find_truth, list_truth
from segvote.io.exports.base import ExportOptions
from segvote.io.exports.coco import write_coco_file
from segvote.io.exports.index_pictures import write_voc
from segvote.io.masks import write_mask
from segvote.types import Annotation, Part

XML = """<annotation><object><name>{name}</name><bndbox><xmin>3</xmin><ymin>2</ymin><xmax>6</xmax><ymax>5</ymax>
</bndbox></object></annotation>"""


@pytest.fixture
def mask():
    mask = np.zeros((8, 10), dtype=bool)
    mask[1:5, 2:6] = True
    return mask


@pytest.fixture
def annotations(mask):
    other = np.zeros_like(mask)
    other[6:, 7:] = True
    parts = (Part("cow", mask), Part("dog", other))
    return [Annotation("with/one.jpg", 8, 10, parts), Annotation("with/none.jpg", 8, 10)]


def read_only(readers):
    (reader,) = readers.values()
    return reader()


def test_masks_are_found_by_name_in_nested_folders(tmp_path, mask):
    write_mask(tmp_path / "farm/one.png", mask)
    write_mask(tmp_path / "two.png", mask)
    readers = list_truth(tmp_path)
    assert find_truth(readers, "with/farm/one.jpg") is readers["farm/one"]
    assert find_truth(readers, "with/deep/two.jpeg") is readers["two"]
    assert find_truth(readers, "with/three.jpg") is None
    write_mask(tmp_path / "zoo/one.png", mask)
    assert find_truth(list_truth(tmp_path), "with/one.jpg") is None  # ambiguous


def test_ignored_pixels_stay_ignored(tmp_path, mask):
    values = np.where(mask, 255, 0).astype(np.uint8)
    values[0] = 128
    write_mask(tmp_path / "one.png", values)
    np.testing.assert_array_equal(read_only(list_truth(tmp_path)).mask, values)


def test_a_coco_file_gives_masks_of_annotated_images_only(tmp_path, annotations, mask):
    path = tmp_path / "truth.json"
    write_coco_file(iter(annotations), path, ExportOptions(labels=("cow", "dog")))
    readers = list_truth(path)
    assert list(readers) == ["with/one"]
    assert (read_only(readers).mask > 0).sum() == mask.sum() + 6
    np.testing.assert_array_equal(read_only(list_truth(path, "cow")).mask == 255, mask)


def test_a_voc_folder_gives_all_classes_or_the_one_asked_for(tmp_path, annotations, mask):
    write_voc(iter(annotations[:1]), tmp_path, ExportOptions(labels=("cow", "dog"), images="none"))
    assert (read_only(list_truth(tmp_path)).mask == 255).sum() == mask.sum() + 6
    for label in ("cow", "1"):
        np.testing.assert_array_equal(read_only(list_truth(tmp_path, label)).mask == 255, mask)
    with pytest.raises(BadInputError, match="cow, dog"):
        read_only(list_truth(tmp_path, "horse"))


def test_without_a_label_map_classes_are_named_as_in_voc(tmp_path):
    picture = Image.fromarray(np.array([[0, 10, 12, 255]], dtype=np.uint8))
    picture.putpalette(np.random.default_rng(0).integers(0, 256, 768).astype(np.uint8).tobytes())
    (tmp_path / "SegmentationClass").mkdir()
    picture.save(tmp_path / "SegmentationClass/one.png")
    assert read_only(list_truth(tmp_path, "cow")).mask.tolist() == [[0, 255, 0, 128]]


def format_boxes(**changed):
    """A COCO file of one box."""
    coco = {
        "images": [{"id": 1, "file_name": "one.jpg", "height": 8, "width": 10}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [2, 1, 4, 4], **changed}],
        "categories": [{"id": 1, "name": "cow"}],
    }
    return json.dumps(coco)


def test_boxes_come_from_voc_files_and_coco_files_alike(tmp_path):
    wanted = [[2.0, 1.0, 6.0, 5.0]]
    (tmp_path / "Annotations").mkdir()
    (tmp_path / "Annotations/one.xml").write_text(XML.format(name="cow"))
    (tmp_path / "Annotations/two.xml").write_text(XML.format(name="dog"))
    (tmp_path / "boxes.json").write_text(format_boxes())
    for path in (tmp_path, tmp_path / "boxes.json"):
        assert list_truth(path)["one"]().boxes.tolist() == wanted
    assert list_truth(tmp_path, "cow")["two"]().boxes.shape == (0, 4)


@pytest.mark.parametrize(("key", "value"), [("bbox", [1, 2, 3]), ("bbox", [1, 2, 3, "four"]), ("image_id", 7)])
def test_a_wrong_box_of_a_coco_file_is_named_in_one_line(tmp_path, key, value):
    (tmp_path / "boxes.json").write_text(format_boxes(**{key: value}))
    with pytest.raises(BadInputError, match=r"annotations(\[0\]| of images that are not listed)"):
        list_truth(tmp_path / "boxes.json", "cow")


def test_a_wrong_box_of_a_voc_file_is_named_in_one_line(tmp_path):
    (tmp_path / "one.xml").write_text(XML.format(name="cow").replace("<ymin>2", "<ymin>two"))
    with pytest.raises(BadInputError, match=r"one\.xml: .*'two'"):
        list_truth(tmp_path)["one"]()


def test_absent_and_empty_truth_are_refused(tmp_path):
    with pytest.raises(BadInputError, match="found nothing"):
        list_truth(tmp_path / "absent")
    with pytest.raises(BadInputError, match="no truth"):
        list_truth(tmp_path)


def save(picture, folder, ending, quality=75):
    options = {"quality": quality} if ending == "jpg" else {}
    Image.fromarray(picture).save(folder / f"a.{ending}", **options)


def put_on_white():
    page = np.full((400, 600, 3), 255, np.uint8)
    page[100:300, 150:400] = skimage.data.chelsea()[50:250, 100:350]
    return page


@pytest.mark.parametrize("make", [skimage.data.chelsea, skimage.data.camera, skimage.data.cell, put_on_white])
@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_a_photograph_is_refused_as_truth(tmp_path, make, ending):
    save(make(), tmp_path, ending)
    with pytest.raises(BadInputError, match=rf"a\.{ending} looks like a photograph: .* Check --truth"):
        list_truth(tmp_path)["a"]()


def draw_thin_lines(side):
    rng = np.random.default_rng(0)
    picture = Image.new("L", (565, 584))
    for ends in rng.integers(0, 565, (60, 2, 2)):
        ImageDraw.Draw(picture).line([tuple(map(int, end)) for end in ends], fill=255, width=int(rng.integers(1, 4)))
    return np.asarray(picture.resize((side, side), Image.Resampling.BILINEAR))


def number_instances():
    return np.kron(np.arange(64).reshape(8, 8) * 4, np.ones((16, 16))).astype(np.uint8)


@pytest.mark.parametrize("picture", [draw_thin_lines(565), draw_thin_lines(300), number_instances()])
@pytest.mark.parametrize(("ending", "quality"), [("png", 0), ("jpg", 50)])
def test_soft_thin_lines_and_instances_are_masks(tmp_path, picture, ending, quality):
    save(picture, tmp_path, ending, quality)
    assert list_truth(tmp_path)["a"]().mask.shape == picture.shape
