"""Every format of the registry gives the identical masks to a reader that shares no code with the writer."""

import json
import os
import weakref
from pathlib import Path, PurePosixPath
from unittest import mock

import numpy as np
import pytest
from export_decoders import decode, read_picture
from hypothesis import given
from hypothesis import strategies as st
from mask_examples import MASKS
from PIL import Image
from pycocotools.coco import COCO

from segvote.errors import BadInputError, UnknownNameError
from segvote.io import EXPORTS
from segvote.io.exports.base import ExportOptions, Split, list_parts, place_image
from segvote.io.exports.coco import write_coco_file
from segvote.io.names import FileNamer
from segvote.types import Annotation, Part

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def make_options(**options):
    """Options for annotations without pictures, in one subset."""
    return ExportOptions(**{"labels": ("car",), "images": "none", "val_share": 0, **options})


def annotate(masks, label="car"):
    return [Annotation(name, *mask.shape, (Part(label, mask, 0.5),)) for name, mask in masks.items()]


def assert_round_trip(format_, folder, masks, options):
    EXPORTS[format_](iter(annotate(masks)), folder, options)
    found = decode(format_, folder, {name: mask.shape for name, mask in masks.items()})
    assert found.keys() == masks.keys()
    for name, mask in masks.items():
        np.testing.assert_array_equal(found[name], mask, err_msg=name)


@pytest.mark.parametrize("instances", [False, True])
@pytest.mark.parametrize("polygons", [False, True])
@pytest.mark.parametrize("format_", EXPORTS)
def test_masks_come_back_identical(tmp_path, format_, polygons, instances):
    named = {f"folder {number}/{name}.jpg": mask for number, (name, mask) in enumerate(MASKS.items())}
    assert_round_trip(format_, tmp_path, named, make_options(polygons=polygons, instances=instances))


@pytest.mark.parametrize("format_", EXPORTS)
def test_two_exports_have_the_same_bytes(tmp_path, format_):
    files = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        EXPORTS[format_](annotate({"a.jpg": MASKS["hole"], "b.jpg": MASKS["empty"]}), folder, make_options())
        found = {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
        files.append(found)
    if format_ == "labelme":  # its way to the picture begins at the file
        files = [{path: data.replace(b"/two/", b"/one/") for path, data in found.items()} for found in files]
    assert files[0] == files[1]


@pytest.mark.parametrize("format_", EXPORTS)
def test_writers_take_annotations_one_at_a_time(tmp_path, format_):
    made = []

    def produce():
        for number in range(8):
            mask = np.ones((4, 6), bool)
            made.append(weakref.ref(mask))
            yield Annotation(f"{number}.jpg", 4, 6, (Part("car", mask),))
            del mask
            assert sum(reference() is not None for reference in made) <= 2

    path = EXPORTS[format_](produce(), tmp_path, make_options())
    assert isinstance(path, Path) and path.exists()


@pytest.mark.parametrize("format_", EXPORTS)
def test_an_export_of_nothing_is_written(tmp_path, format_):
    assert EXPORTS[format_](iter([]), tmp_path / "out", make_options()).exists()


@pytest.mark.parametrize("format_", EXPORTS)
def test_strange_names_and_labels_are_kept(tmp_path, format_):
    named = {'a "b" <&> é 名.jpg': MASKS["hole"], "x.y.z.JPG": MASKS["full"], "caf\udce9.png": MASKS["one pixel"]}
    label = 'a "b" <&> é'
    assert EXPORTS[format_](annotate(named, label), tmp_path, make_options(labels=(label,))).exists()


@pytest.mark.parametrize("name", ["/a.jpg", "x/../../a.jpg"])
@pytest.mark.parametrize("format_", EXPORTS)
def test_names_that_lead_outside_are_refused(tmp_path, format_, name):
    annotation = Annotation(name, 7, 5, image_path=tmp_path / "a.jpg")
    with pytest.raises(BadInputError, match="below its folder"):
        EXPORTS[format_]([annotation], tmp_path / "out", make_options(images="copy", val_share=0.2))


@pytest.mark.parametrize("format_", EXPORTS)
def test_labels_outside_the_list_are_refused(tmp_path, format_):
    with pytest.raises(BadInputError, match="'car' is not among cow"):
        EXPORTS[format_](annotate({"a.jpg": MASKS["full"]}), tmp_path, make_options(labels=("cow",)))


# options


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"labels": ("a", "a")}, "labels must be different"),
        ({"labels": ("",)}, "labels must be different"),
        ({"val_share": 1.0}, "share for validation"),
    ],
)
def test_wrong_options_are_refused(options, reason):
    with pytest.raises(BadInputError, match=reason):
        make_options(**options)


def test_an_unknown_choice_of_images_names_the_known_ones():
    with pytest.raises(UnknownNameError, match="link, copy, none"):
        make_options(images="move")


@pytest.mark.parametrize("unsure", [-0.1, 1.5])
def test_an_unsure_band_is_a_share(unsure):
    with pytest.raises(BadInputError, match="0 to 1"):
        make_options(unsure=unsure)


def test_instances_are_connected_regions_above_a_size():
    mask = MASKS["several parts"].copy()
    mask[0, 30] = True
    annotation = Annotation("a.jpg", *mask.shape, (Part("car", mask, 0.25),))
    parts = list_parts(annotation, make_options(instances=True, min_area=2))
    assert [int(part.mask.sum()) for part in parts] == [24, 36, 22]
    assert {(part.label, part.score) for part in parts} == {("car", 0.25)}
    assert len(list_parts(annotation, make_options(instances=True))) == 4
    diagonal = Annotation("a.jpg", 3, 3, (Part("car", np.eye(3, dtype=bool)),))
    assert len(list_parts(diagonal, make_options(instances=True))) == 1  # pixels that meet at a corner


def make_turned(path):
    """A picture that lies on its side, with EXIF orientation."""
    exif = Image.Exif()
    exif[0x0112] = 6
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[:20] = 255
    Image.fromarray(pixels).save(path, exif=exif)
    return Annotation(path.name, 60, 40, (Part("car", np.ones((60, 40), bool)),), image_path=path)


def assert_upright(path):
    with Image.open(path) as picture:
        assert picture.size == (40, 60)
        assert picture.getexif().get(0x0112, 1) == 1
        assert np.array(picture.convert("L"))[:, 30].min() > 200  # the upper side is on the right


@pytest.mark.parametrize("format_", sorted(set(EXPORTS) - {"png"}))
def test_copied_pictures_are_upright_and_fit_their_masks(tmp_path, format_):
    annotation = make_turned(tmp_path / "turned.jpg")
    EXPORTS[format_]([annotation], tmp_path / "out", make_options(images="copy", val_share=0.2))
    (copy,) = [path for path in (tmp_path / "out").rglob("*turned*") if path.suffix == ".jpg" or "leftImg" in path.name]
    assert_upright(copy)


@pytest.mark.parametrize("extension", ["png", "webp", "tif"])
def test_other_turned_pictures_are_copied_upright(tmp_path, extension):
    place_image(make_turned(tmp_path / f"a.{extension}"), tmp_path / f"b.{extension}", make_options(images="link"))
    assert_upright(tmp_path / f"b.{extension}")


@pytest.fixture
def photograph(tmp_path):
    Image.new("RGB", (6, 4)).save(tmp_path / "a.jpg")
    return Annotation("a.jpg", 4, 6, image_path=tmp_path / "a.jpg")


@pytest.mark.parametrize("images", ["link", "copy"])
def test_upright_pictures_keep_their_bytes(tmp_path, photograph, images):
    place_image(photograph, tmp_path / "b.jpg", make_options(images=images))
    assert (tmp_path / "a.jpg").read_bytes() == (tmp_path / "b.jpg").read_bytes()
    assert (tmp_path / "a.jpg").samefile(tmp_path / "b.jpg") == (images == "link")


def test_pictures_are_copied_where_links_fail(tmp_path, photograph, monkeypatch):
    monkeypatch.setattr(os, "link", mock.Mock(side_effect=OSError(18, "Invalid cross-device link")))
    place_image(photograph, tmp_path / "b.jpg", make_options(images="link"))
    assert (tmp_path / "a.jpg").read_bytes() == (tmp_path / "b.jpg").read_bytes()


def test_a_link_leads_to_the_file_not_to_a_link(tmp_path, photograph):
    (tmp_path / "linked.jpg").symlink_to("a.jpg")
    annotation = Annotation("linked.jpg", 4, 6, image_path=tmp_path / "linked.jpg")
    place_image(annotation, tmp_path / "b.jpg", make_options(images="link"))
    assert not (tmp_path / "b.jpg").is_symlink() and (tmp_path / "b.jpg").samefile(tmp_path / "a.jpg")


def test_a_jpeg_that_trainers_repair_in_place_is_copied(tmp_path, photograph):
    with (tmp_path / "a.jpg").open("ab") as file:
        file.write(b"appended by a camera")
    place_image(photograph, tmp_path / "b.jpg", make_options(images="link"))
    assert not (tmp_path / "b.jpg").samefile(tmp_path / "a.jpg")


@pytest.mark.parametrize(("name", "expected"), {"a.jfif": "a.jpg", "a.gif": "a.png", "a.PNG": "a.PNG"}.items())
def test_yolo_pictures_have_extensions_that_trainers_list(tmp_path, name, expected):
    Image.new("RGB", (20, 10)).save(tmp_path / name)
    annotation = Annotation(f"with/{name}", 10, 20, image_path=tmp_path / name)
    EXPORTS["yolo"]([annotation], tmp_path / "out", make_options(images="link"))
    (written,) = (tmp_path / "out/images").iterdir()
    assert written.name == expected
    with Image.open(written) as picture:
        assert picture.format == {".jpg": "JPEG"}.get(written.suffix, "PNG")


@pytest.mark.parametrize("format_", sorted(set(EXPORTS) - {"png"}))
def test_a_picture_that_is_not_there_cannot_be_copied(tmp_path, format_):
    with pytest.raises(BadInputError, match="no picture on disk"):
        EXPORTS[format_](annotate({"a.jpg": MASKS["full"]}), tmp_path, make_options(images="copy", val_share=0.2))


# single formats


def test_coco_lists_all_images_and_counts_from_one(tmp_path):
    annotations = annotate({"a.jpg": MASKS["empty"], "b.jpg": MASKS["hole"]})
    write_coco_file(iter(annotations), tmp_path / "a.json", make_options())
    data = json.loads((tmp_path / "a.json").read_text())
    assert [(image["id"], image["file_name"]) for image in data["images"]] == [(1, "a.jpg"), (2, "b.jpg")]
    (record,) = data["annotations"]
    assert (record["id"], record["image_id"], record["category_id"], record["iscrowd"]) == (1, 2, 1, 0)
    assert record["area"] == MASKS["hole"].sum() and record["bbox"] == [0, 0, 13, 9]
    assert "score" not in record
    assert data["categories"] == [{"id": 1, "name": "car", "supercategory": ""}]


def test_unsure_pixels_have_their_own_value(tmp_path):
    mask, unsure = np.zeros((4, 6), bool), np.zeros((4, 6), bool)
    mask[1:3], unsure[2:4] = True, True
    annotation = Annotation("a.jpg", 4, 6, (Part("car", mask),), unsure)
    for format_, file_name, mode, value in [
        ("voc", "SegmentationClass/a.png", "P", 255),
        ("voc", "SegmentationObject/a.png", "P", 255),
        ("png", "a.png", "L", 128),
        ("cityscapes", "gtFine/train/segvote/segvote_a_000000_gtFine_labelIds.png", "L", 255),
        ("cityscapes", "gtFine/train/segvote/segvote_a_000000_gtFine_labelTrainIds.png", "L", 255),
        ("cityscapes", "gtFine/train/segvote/segvote_a_000000_gtFine_instanceIds.png", "I;16", 255),
    ]:
        EXPORTS[format_]([annotation], tmp_path / format_, make_options())
        np.testing.assert_array_equal(read_picture(tmp_path / format_ / file_name, mode) == value, unsure)


def test_voc_refuses_more_objects_than_a_byte_can_number(tmp_path):
    mask = np.zeros((40, 40), bool)
    mask[::2, ::2] = True
    with pytest.raises(BadInputError, match="at most 254"):
        EXPORTS["voc"](annotate({"a.jpg": mask}), tmp_path, make_options(instances=True))


def test_cityscapes_keeps_its_own_numbers_and_adds_new_ones(tmp_path):
    full = np.ones((2, 3), bool)
    annotations = [Annotation(f"{label}.jpg", 2, 3, (Part(label, full),)) for label in ["cow", "bus", "sheep"]]
    EXPORTS["cityscapes"](annotations, tmp_path, make_options(labels=("cow", "bus", "sheep")))
    for label, number in {"cow": 34, "bus": 28, "sheep": 35}.items():
        base = tmp_path / f"gtFine/train/segvote/segvote_{label}_000000_gtFine"
        assert (read_picture(f"{base}_labelIds.png") == number).all()
        assert (read_picture(f"{base}_instanceIds.png", "I;16") == number * 1000).all()


def test_png_writes_class_numbers_when_there_are_several_labels(tmp_path):
    left, right = np.zeros((2, 4), bool), np.zeros((2, 4), bool)
    left[:, 0], right[:, 3] = True, True
    annotation = Annotation("a.jpg", 2, 4, (Part("cow", left), Part("car", right)))
    EXPORTS["png"]([annotation], tmp_path, make_options(labels=("car", "cow")))
    assert read_picture(tmp_path / "classes/a.png").tolist() == [[2, 0, 0, 1]] * 2
    assert read_picture(tmp_path / "a.png").tolist() == [[255, 0, 0, 255]] * 2


def test_class_numbers_do_not_overwrite_a_folder_called_classes(tmp_path):
    """A class may be called *classes*, and have a folder called like another class."""
    annotations = [
        Annotation(f"{name}.jpg", 2, 4, (Part("car", np.ones((2, 4), bool), number),))
        for number, name in enumerate(["cow/a", "classes/cow/a", "Classes/cow/a", "classes~/cow/a", "classes"])
    ]
    EXPORTS["png"](annotations, tmp_path, make_options(labels=("cow", "car")))
    pictures = {path: read_picture(path) for path in tmp_path.rglob("*.png")}
    assert len(pictures) == 10
    numbers = [path for path, picture in pictures.items() if picture.max() == 2]
    assert {path.relative_to(tmp_path).parts[0] for path in numbers} == {"classes"} and len(numbers) == 5


def test_labelme_finds_the_way_to_the_picture(tmp_path):
    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (5, 7)).save(tmp_path / "pictures/a.jpg")
    annotation = Annotation("x/a.jpg", 7, 5, image_path=tmp_path / "pictures/a.jpg")
    EXPORTS["labelme"]([annotation], tmp_path / "out", make_options())
    data = json.loads((tmp_path / "out/x/a.json").read_text())
    assert (tmp_path / "out/x" / data["imagePath"]).resolve() == tmp_path / "pictures/a.jpg"


def test_label_studio_addresses_are_quoted(tmp_path):
    EXPORTS["label-studio"]([Annotation("a b/ü&.jpg", 4, 6)], tmp_path, make_options())
    (task,) = json.loads((tmp_path / "tasks.json").read_text())
    assert task["data"]["image"] == "/data/local-files/?d=a%20b/%C3%BC%26.jpg"
    assert task["predictions"] == [{"model_version": "segvote", "result": [], "score": 0.0}]


# the documentation


def test_every_format_has_its_section_in_the_documentation():
    text = (Path(__file__).parents[2] / "docs/exports.md").read_text().split("## Options")[1].split("## FiftyOne")[0]
    headings = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert headings == list(EXPORTS)


@given(st.lists(st.sampled_from(["a.jpg", "A.png", "a-jpg.png", "a.png/b.jpg", "a.json/b.png", "a/b.tif", "a-2.jpg"])))
def test_no_two_images_share_a_file(names):
    namer = FileNamer()
    stems = [namer.choose_stem(name).casefold() for name in names]
    paths = [stem + ending for stem in stems for ending in (".png", ".json")]
    folders = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    assert len(set(paths)) == len(paths) and not folders & set(paths)


def write_yolo(folder, names, **options):
    return EXPORTS["yolo"]([Annotation(name, 4, 6) for name in names], folder, make_options(labels=("car",), **options))


def test_yolo_labels_of_one_folder_have_different_names(tmp_path):
    write_yolo(tmp_path, ["with/a.jpg", "without/a.jpg", "with_a.jpg"])
    paths = {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*.txt")}
    assert sorted(paths) == ["labels/a.txt", "labels/with_a.txt", "labels/without_a.txt"]
    assert not any(path.read_text() for path in paths.values())  # an empty file for an image without objects


def deal(split, n_with, n_without):
    return [
        split.choose(Annotation("a.jpg", 1, 1, (Part("car", np.ones((1, 1), bool)),) * n))
        for n in [1] * n_with + [0] * n_without
    ]


def test_both_kinds_of_images_are_split_alike():
    subsets = deal(Split(0.2), 10, 5)
    assert [number for number, subset in enumerate(subsets) if subset == "val"] == [2, 7, 12]
    assert deal(Split(0.2), 3, 0) == ["train", "train", "val"]
    assert set(deal(Split(0.0, "default"), 9, 9)) == {"default"}


def test_frames_of_a_video_stay_in_one_subset():
    split = Split(0.5)
    frames = [Annotation(f"{n}.png", 1, 1, properties={"video": f"film {n // 10}"}) for n in range(40)]
    subsets = [split.choose(frame) for frame in frames]
    assert [set(subsets[start : start + 10]) for start in (0, 10, 20, 30)] == [{"val"}, {"train"}, {"val"}, {"train"}]


def test_yolo_splits_into_train_and_val(tmp_path):
    path = write_yolo(tmp_path, [f"with/{number}.jpg" for number in range(10)], val_share=0.2)
    assert sorted(one.name for one in (tmp_path / "labels/val").iterdir()) == ["2.txt", "7.txt"]
    assert len(list((tmp_path / "labels/train").iterdir())) == 8
    assert path.read_text().startswith("train: images/train\nval: images/val\n")
    few = write_yolo(tmp_path / "few", ["with/a.jpg", "with/b.jpg"], val_share=0.2)
    assert few.read_text().startswith("train: images/train\nval: images/train\n")  # a trainer needs both


def test_each_coco_subset_has_its_own_ids_and_results(tmp_path):
    annotations = annotate({f"{n}.jpg": MASKS["hole"] for n in range(5)})
    EXPORTS["coco"](annotations, tmp_path, make_options(val_share=0.2, polygons=True))
    for subset, n_images in {"train": 4, "val": 1}.items():
        coco = COCO(tmp_path / f"annotations/instances_{subset}.json")
        assert sorted(coco.imgs) == list(range(1, n_images + 1))
        results = coco.loadRes(str(tmp_path / f"results_{subset}.json"))
        assert [record["score"] for record in results.dataset["annotations"]] == [0.5] * n_images
        for record in results.dataset["annotations"]:
            np.testing.assert_array_equal(results.annToMask(record), MASKS["hole"])


def test_yolo_writes_boxes_on_request_without_exponents(tmp_path):
    mask = np.zeros((40, 100_000), bool)
    mask[10:20, 1:4] = mask[30:40, 1:2] = True
    annotation = Annotation("a.jpg", *mask.shape, (Part("car", mask),))
    EXPORTS["yolo"]([annotation], tmp_path, make_options(boxes=True))
    assert (tmp_path / "labels/a.txt").read_text() == "0 0.000025000 0.625000000 0.000030000 0.750000000\n"
