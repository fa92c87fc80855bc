"""Exports come back as the same annotations; files of other tools are read, damaged ones refused with a reason."""

import json
import tempfile
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mask_examples import MASKS

from segvote.errors import BadInputError, DamagedFileError, TooLargeError, UnwritableFileError
from segvote.io import EXPORTS
from segvote.io.encodings.rle import encode_rle
from segvote.io.exports.base import ExportOptions
from segvote.io.imports import read_any
from segvote.io.imports.base import NameIndex, clean_name
from segvote.io.imports.coco import parse_coco
from segvote.io.imports.cvat import read_cvat_xml
from segvote.io.imports.label_tools import read_labelme
from segvote.types import Annotation, Part

READERS = {"coco": read_any, "cvat": read_cvat_xml, "label-studio": read_any, "labelme": read_labelme}


def annotate(masks):
    return [
        Annotation(name, *mask.shape, (Part("car", mask, 0.25), Part("cow", ~mask, 0.5)))
        for name, mask in masks.items()
    ]


def export(format_, folder, masks, **options):
    """Write masks in a format; returns the annotations and the path to read."""
    wanted, chosen = annotate(masks), ExportOptions(("car", "cow"), images="none", val_share=0, **options)
    return wanted, EXPORTS[format_](wanted, folder, chosen)


def join(annotation, label):
    found = [part.mask for part in annotation.parts if part.label == label]
    return np.any([np.zeros((annotation.height, annotation.width), bool), *found], axis=0)


def assert_same(found, wanted):
    assert {annotation.name for annotation in found} == {annotation.name for annotation in wanted}
    by_name = {annotation.name: annotation for annotation in found}
    for annotation in wanted:
        other = by_name[annotation.name]
        assert (other.height, other.width) == (annotation.height, annotation.width)
        for label in ("car", "cow"):
            np.testing.assert_array_equal(join(other, label), join(annotation, label))


@pytest.mark.parametrize("polygons", [False, True])
@pytest.mark.parametrize("format_", READERS)
def test_exports_come_back(tmp_path, format_, polygons):
    wanted, path = export(format_, tmp_path, {f"a b/{n}.jpg": mask for n, mask in MASKS.items()}, polygons=polygons)
    found = list(READERS[format_](path))
    assert_same(found, wanted)
    assert_same(list(read_any(path)), wanted)
    (hole,) = [one for one in found if one.name == "a b/hole.jpg"]
    assert [part.score for part in hole.parts] == ([1, 1] if format_ == "coco" else [0.25, 0.5])


@pytest.mark.parametrize("format_", ["coco", "cvat", "label-studio"])
def test_archives_are_opened(tmp_path, format_):
    wanted, path = export(format_, tmp_path, {"a.jpg": MASKS["hole"]})
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, f"../../annotations{path.suffix}")
        archive.writestr("images/a.jpg", b"")
    assert_same(list(read_any(tmp_path / "a.zip")), wanted)


def test_archives_without_one_small_file_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", b" " * 20_000_000)
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("a.txt", b"")
    with pytest.raises(BadInputError, match="would grow to"):
        list(read_any(tmp_path / "a.zip"))
    with pytest.raises(BadInputError, match="expected one file"):
        list(read_any(tmp_path / "b.zip"))


@pytest.mark.parametrize("text", ["{}", "[1]", '{"images": []}', "3", '"shapes"'])
def test_other_json_is_no_annotation_file(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(BadInputError, match="none of these"):
        read_any(tmp_path / "a.json")


def test_absent_files_and_bytes_are_refused(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"\x00\xff\x00")
    with pytest.raises(BadInputError, match="absent"):
        read_any(tmp_path / "b")
    with pytest.raises(DamagedFileError, match=r"a\.bin"):
        read_any(tmp_path / "a.bin")
    with pytest.raises(BadInputError, match="cannot be read"):
        list(read_cvat_xml(tmp_path / "a.xml"))


# names


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("a/b.jpg", "a/b.jpg"),
        ("../../etc/passwd", "etc/passwd"),
        ("/etc/passwd", "etc/passwd"),
        ("..\\images\\b.jpg", "images/b.jpg"),
        ("C:\\images\\b.jpg", "images/b.jpg"),
        ("./a//b.jpg", "a/b.jpg"),
        ("a\0b.jpg", "ab.jpg"),
        ("/data/local-files/?d=with/a%20b.jpg", "with/a b.jpg"),
        ("/data/local-files/?d=../../x.jpg", "x.jpg"),
        ("https://host/dir/a%20b.jpg?token=1", "dir/a b.jpg"),
        ("s3://bucket/dir/b.jpg", "dir/b.jpg"),
        ("what?.jpg", "what?.jpg"),
        ("100%.jpg", "100%.jpg"),
        ("http://[x.jpg", "http:/[x.jpg"),
        ("12:30.jpg", "12:30.jpg"),
    ],
)
def test_names_never_lead_outside(address, name):
    assert clean_name(address) == name


@pytest.mark.parametrize("address", ["", "..", "/", "../..", "\0"])
def test_addresses_without_a_name_are_refused(address):
    with pytest.raises(BadInputError):
        clean_name(address)


def test_names_are_matched_by_the_end_of_their_path():
    known = ["with/a.jpg", "without/a.jpg", "with/b.jpg", "c.jpg"]
    index = NameIndex(known)
    assert index.match("with/a.jpg") == "with/a.jpg"
    assert index.match("some/where/with/a.jpg") == "with/a.jpg"
    assert index.match("a.jpg") is None
    assert index.match("b.jpg") == "with/b.jpg"
    assert index.match("other/b.jpg") is None
    assert index.match("images/c.jpg") == "c.jpg"
    assert index.match("data/upload/1/0123abcd-b.jpg") == "with/b.jpg"
    assert index.match("d.jpg") is None
    assert NameIndex(["x/c.jpg", "c.jpg"]).match("c.jpg") == "c.jpg"


# COCO


def make_coco(**changes):
    mask = MASKS["hole"]
    height, width = mask.shape
    record = {"id": 1, "image_id": 1, "category_id": 7, "segmentation": encode_rle(mask), **changes.pop("record", {})}
    image = {"id": 1, "file_name": "a.jpg", "height": height, "width": width, **changes.pop("image", {})}
    return {"images": [image], "annotations": [record], "categories": [{"id": 7, "name": "car"}], **changes}


def read(tmp_path, reader, data):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(data))
    return list(reader(path))


@given(st.lists(st.text("ab/", min_size=1, max_size=5), max_size=8), st.text("ab/", min_size=1, max_size=5))
def test_the_index_of_names_is_the_plain_search(known, name):
    ends = {one for one in known if f"/{one}".endswith(f"/{name}") or f"/{name}".endswith(f"/{one}")}
    wanted = name if name in known else ends.pop() if len(ends) == 1 else None
    assert NameIndex(known).match(name) == wanted


@pytest.mark.parametrize(
    ("make", "name", "n_pixels"),
    [
        (lambda: make_coco(image={"file_name": "../../x.jpg"}), "x.jpg", MASKS["hole"].sum()),
        (lambda: make_labelme(), "images/a.jpg", 6),
        (lambda: [make_task(make_polygon(), data={"image": "/data/local-files/?d=../x.jpg"})], "x.jpg", 12),
    ],
    ids=["coco", "labelme", "label-studio"],
)
def test_image_names_of_a_file_lead_nowhere(tmp_path, make, name, n_pixels):
    (annotation,) = read(tmp_path, read_any, make())
    assert annotation.name == name and annotation.parts[0].mask.sum() == n_pixels


def list_twice(second):
    """A COCO file with one image under two ids, a square in each."""
    left, right = ([[x, 0, x + 4, 0, x + 4, 4, x, 4]] for x in (0, 6))
    shapes = [{"id": n, "image_id": n, "category_id": 1, "segmentation": ring} for n, ring in ((1, left), (2, right))]
    images = [{"id": 1, "file_name": "a.png", "width": 12, "height": 8}, {"id": 2, **second}]
    return {"images": images, "annotations": shapes, "categories": [{"id": 1, "name": "object"}]}


def test_a_coco_image_under_two_ids_is_one_image():
    twice = list_twice({"file_name": "./a.png", "width": 12, "height": 8})
    (annotation,) = parse_coco(twice, "file")
    assert annotation.parts[0].mask[:4, :4].all() and annotation.parts[0].mask[:4, 6:10].all()
    assert annotation.parts[0].mask.sum() == 32
    with pytest.raises(BadInputError, match="several sizes"):
        list(parse_coco(list_twice({"file_name": "a.png", "width": 24, "height": 16}), "file"))


def test_several_polygons_of_an_annotation_are_joined(tmp_path):
    squares = [[0, 0, 2, 0, 2, 2, 0, 2], [5, 5, 8, 5, 8, 8, 5, 8]]
    (annotation,) = read(tmp_path, read_any, make_coco(record={"segmentation": squares}))
    assert annotation.parts[0].mask.sum() == 4 + 9


# CVAT


def make_cvat(shape="", image='name="a.jpg" width="6" height="4"'):
    return f'<?xml version="1.0"?><annotations><version>1.1</version><image {image}>{shape}</image></annotations>'


def make_cvat_mask(counts, side=2):
    return make_cvat(f'<mask label="car" {counts} left="0" top="0" width="{side}" height="{side}"/>')


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (make_cvat("<box/>"), "<box>"),
        (make_cvat_mask('rle="1"', side=9), "edge"),
        (make_cvat_mask('rle="5"'), "add up"),
        (make_cvat_mask('rle="a"'), "rle of a mask: expected `int`"),
        (make_cvat_mask(""), "missing required field `rle`"),
        (make_cvat('<polygon label="car" points="1,2;3"/>'), "polygon"),
        (make_cvat(image='name="a.jpg" width="6"'), "missing required field `height`"),
        (make_cvat(image='name="a.jpg" width="100000000" height="100000000"'), "pixels"),
        (make_cvat(image='width="6" height="4"'), "name"),
        ("<annotations><track/></annotations>", "<track>"),
        ("<annotations><image>", "XML"),
        ("<html></html>", "expected <annotations>"),
        ("", "XML"),
    ],
)
def test_damaged_cvat_is_refused(tmp_path, text, reason):
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(BadInputError, match=reason):
        list(read_cvat_xml(tmp_path / "a.xml"))


# Label Studio


def make_task(*results, **changes):
    drawn = {"result": list(results), "updated_at": "2024-01-01", **changes.pop("drawn", {})}
    return {"id": 5, "data": {"image": "/data/upload/1/0123abcd-a.jpg"}, "annotations": [drawn], **changes}


def make_polygon(**changes):
    value = {"points": [[0, 0], [50, 0], [50, 100], [0, 100]], "polygonlabels": ["car"]}
    return {"id": "x", "type": "polygonlabels", "value": value, "original_width": 6, "original_height": 4, **changes}


def test_the_newest_annotation_that_was_not_skipped_counts(tmp_path):
    task = make_task(make_polygon())
    task["annotations"].append({"result": [], "updated_at": "2023-01-01"})
    task["annotations"].append({"result": [], "updated_at": "2025-01-01", "was_cancelled": True})
    (annotation,) = read(tmp_path, read_any, [task])
    assert annotation.parts[0].mask.tolist() == [[True] * 3 + [False] * 3] * 4
    assert annotation.name == "data/upload/1/0123abcd-a.jpg"


def test_tasks_without_an_annotation_are_left_out(tmp_path):
    seen, unseen = make_task(make_polygon()), make_task(annotations=[], predictions=[{"result": [make_polygon()]}])
    assert len(read(tmp_path, read_any, [seen, unseen])) == 1
    assert len(read(tmp_path, read_any, [unseen])) == 1
    (empty,) = read(tmp_path, read_any, [make_task()])
    assert (empty.height, empty.width, empty.parts) == (0, 0, ())


def test_labels_that_stand_beside_the_shape_are_found(tmp_path):
    shape = make_polygon(type="polygon")
    del shape["value"]["polygonlabels"]
    label = {"id": "x", "type": "labels", "value": {"labels": ["cow"]}}
    (annotation,) = read(tmp_path, read_any, [make_task(shape, label)])
    assert annotation.parts[0].label == "cow"


# labelme


def make_labelme(**changes):
    shape = {"label": "car", "points": [[0, 0], [3, 0], [3, 2], [0, 2]], "shape_type": "polygon", "group_id": None}
    shape.update(changes.pop("shape", {}))
    return {"imagePath": "..\\images\\a.jpg", "imageHeight": 4, "imageWidth": 6, "shapes": [shape], **changes}


def test_a_folder_of_labelme_files_keeps_its_folders(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x/a.json").write_text(json.dumps(make_labelme()))
    assert [annotation.name for annotation in read_any(tmp_path)] == ["x/a.jpg"]


# Damage


DAMAGED = {
    "coco": [
        make_coco(record={"segmentation": []}),
        make_coco(record={"segmentation": [[1, 2, 3]]}),
        make_coco(record={"segmentation": [[1e300, 0, 1, 1, 2, 2]]}),
        make_coco(record={"segmentation": {"size": [5, 5], "counts": [25]}}),
        make_coco(record={"segmentation": {"size": [10**9, 10**9], "counts": [10**18]}}),
        make_coco(record={"category_id": 3}),
        make_coco(record={"image_id": 9}),
        make_coco(record={"score": "high"}),
        make_coco(image={"height": 10**9, "width": 10**9}),
        make_coco(image={"height": -1}),
        make_coco(image={"file_name": 5}),
        make_coco(images=3),
    ],
    "label-studio": [
        [make_task(make_polygon(image_rotation=90))],
        [make_task(make_polygon(original_width=None))],
        [make_task(make_polygon(), make_polygon(original_width=9))],
        [make_task(make_polygon(type="rectanglelabels", value={"x": 1}))],
        [make_task(make_polygon(value={"points": [[1, "x"]]}))],
        [make_task(make_polygon(type="brushlabels", value={"rle": [1, 2]}))],
        [make_task(make_polygon(score="x"))],
        [make_task(make_polygon(), data={})],
        [make_task(annotations={"a": 1})],
    ],
    "labelme": [
        make_labelme(shape={"shape_type": "circle"}),
        make_labelme(shape={"label": None}),
        make_labelme(shape={"points": [[0, 0], [1]]}),
        make_labelme(shape={"shape_type": "mask", "mask": "!!"}),
        make_labelme(shape={"shape_type": "mask", "mask": "aGVsbG8=", "points": [[0, 0], [1, 1]]}),
        make_labelme(imageHeight=None),
        make_labelme(imagePath=""),
    ],
}


@pytest.mark.parametrize(
    ("format_", "number"), [(format_, number) for format_ in DAMAGED for number in range(len(DAMAGED[format_]))]
)
def test_damaged_files_are_refused_in_one_line(tmp_path, format_, number):
    with pytest.raises(BadInputError) as caught:
        read(tmp_path, read_any, DAMAGED[format_][number])
    assert "a.json" in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


def test_more_labels_than_the_budget_holds_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("SEGVOTE_READ_MB", "1")
    shapes = [{"label": f"label {number}", "points": [[0, 0], [1, 0], [1, 1]]} for number in range(8)]
    data = {"imageHeight": 500, "imageWidth": 500, "imagePath": "a.jpg", "shapes": shapes}
    (tmp_path / "a.json").write_text(json.dumps(data))
    with pytest.raises(TooLargeError, match="SEGVOTE_READ_MB"):
        list(read_any(tmp_path / "a.json"))
    monkeypatch.setenv("SEGVOTE_READ_MB", "20")
    (annotation,) = read_any(tmp_path / "a.json")
    assert len(annotation.parts) == 8


def test_no_room_for_temporary_files_is_one_line(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.json", b"{}")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    with pytest.raises(UnwritableFileError, match="TMPDIR"):
        list(read_any(tmp_path / "a.zip"))
