"""Public sets of photographs: tiny fakes in exactly the layout of the real ones."""

import numpy as np
import pytest

from segvote.datasets import DATASETS
from segvote.datasets.photographs import CAMVID_COLOURS, FACADE_COLOURS, MSRC_COLOURS
from segvote.errors import BadInputError, UnknownNameError


@pytest.fixture
def pets(tmp_path, write_picture, half_mask):
    names = {"Abyssinian_1": "1 1 1", "Bengal_7": "6 1 2", "american_bulldog_10": "2 2 1", "beagle_116": "5 2 4"}
    trimap = np.where(half_mask, 1, 2).astype(np.uint8)
    trimap[:, 11:13] = 3
    for name in names:
        write_picture(tmp_path / "images" / f"{name}.jpg")
        write_picture(tmp_path / "annotations/trimaps" / f"{name}.png", trimap)
    write_picture(tmp_path / "annotations/trimaps/._Abyssinian_1.png")  # left behind by an archiver
    (tmp_path / "images/beagle_116.jpg").unlink()
    lines = [
        "#Image CLASS-ID SPECIES BREED ID",
        "#ID: 1:37 Class ids",
        *(f"{name} {ids}" for name, ids in names.items()),
    ]
    (tmp_path / "annotations/list.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_cats_are_the_without_images_of_dogs(pets):
    data = DATASETS["oxford-pets"](pets)
    assert data.classes == ["cat", "dog"]
    assert [item.name for item in data.select("dog", "with")] == ["american_bulldog_10.jpg"]
    assert [item.name for item in data.select("dog", "without")] == ["Abyssinian_1.jpg", "Bengal_7.jpg"]


def test_the_line_around_a_pet_is_ignored(pets):
    mask = DATASETS["oxford-pets"](pets, "cat").items["cat"][0].read_masks()[0]
    assert [(mask == value).sum() for value in (255, 128, 0)] == [11 * 18, 2 * 18, 11 * 18]


def test_breeds_are_classes_too(pets):
    data = DATASETS["oxford-pets"](pets, "american_bulldog")
    assert len(data.select("american_bulldog", "with")) == 1 and len(data.select("american_bulldog", "without")) == 2
    with pytest.raises(UnknownNameError, match="Abyssinian, Bengal"):
        DATASETS["oxford-pets"](pets, "dachshund")


def test_a_missing_list_is_named(pets):
    (pets / "annotations/list.txt").unlink()
    with pytest.raises(BadInputError, match=r"list\.txt"):
        DATASETS["oxford-pets"](pets)


@pytest.mark.parametrize(("images", "truth", "extension"), [("rgb", "figure_ground", "jpg"), ("horse", "mask", "png")])
def test_horses_are_found_in_both_layouts(tmp_path, write_picture, half_mask, images, truth, extension):
    folder = tmp_path / "weizmann_horse_db"
    values = np.where(half_mask, 255 if extension == "jpg" else 1, 0).astype(np.uint8)
    for number in (1, 2):
        write_picture(folder / images / f"horse{number:03d}.{extension}")
        write_picture(folder / truth / f"horse{number:03d}.{extension}", values)
    write_picture(folder / "without/street.jpg")
    data = DATASETS["weizmann-horses"](tmp_path)
    assert (len(data.select("horse", "with")), len(data.select("horse", "without"))) == (2, 1)
    assert np.array_equal(data.items["horse"][0].read_masks()[0] == 255, half_mask)


def make_label(*parts, size=(20, 25)):
    """Fill a label image with colours, each a given number of pixels, the rest with the last colour."""
    label = np.empty((size[0] * size[1], 3), dtype=np.uint8)
    start = 0
    for colour, count in parts:
        label[start : start + count] = colour
        start += count
    return label.reshape(*size, 3)


@pytest.fixture
def msrc(tmp_path, write_picture):
    root = tmp_path / "MSRC_ObjCategImageDatabase_v2"
    cow, grass = MSRC_COLOURS["cow"], MSRC_COLOURS["grass"]
    labels = {
        "5_1_s": make_label((cow, 100), ((0, 0, 0), 50), (grass, 350)),
        "2_1_s": make_label((grass, 500)),
        "2_2_s": make_label((cow, 2), (grass, 498)),  # a trace of a cow
    }
    for name, label in labels.items():
        write_picture(root / "Images" / f"{name}.bmp", size=(25, 20))
        write_picture(root / "GroundTruth" / f"{name}_GT.bmp", label)
    return tmp_path


def test_msrc_labels_images_by_what_they_show(msrc):
    data = DATASETS["msrc-v2"](msrc)
    assert data.classes == ["cow", "grass"]
    assert [item.name for item in data.select("cow", "with")] == ["5_1_s.bmp"]
    assert [item.name for item in data.select("cow", "without")] == ["2_1_s.bmp"]
    mask = data.select("cow", "with")[0].read_masks()[0]
    assert [(mask == value).sum() for value in (255, 128, 0)] == [100, 50, 350]


def test_a_class_that_is_none_lists_the_known_ones(msrc):
    with pytest.raises(UnknownNameError, match="aeroplane, bicycle"):
        DATASETS["msrc-v2"](msrc, "unicorn")
    with pytest.raises(BadInputError, match="nothing on disk shows dog"):
        DATASETS["msrc-v2"](msrc, "dog")


def test_labelmefacade_pairs_jpeg_and_png(tmp_path, write_picture):
    write_picture(tmp_path / "images/street__p1.jpg", size=(25, 20))
    write_picture(tmp_path / "labels/street__p1.png", make_label((FACADE_COLOURS["car"], 100), ((0, 0, 0), 400)))
    write_picture(tmp_path / "images/house__p2.jpg", size=(25, 20))
    write_picture(tmp_path / "labels/house__p2.png", make_label((FACADE_COLOURS["building"], 500)))
    (tmp_path / "images/filelist.txt").write_text("images/street__p1.jpg\n")
    data = DATASETS["labelmefacade"](tmp_path, "car")
    assert [item.name for item in data.items["car"]] == ["street__p1.jpg", "house__p2.jpg"]
    assert np.unique(data.items["car"][0].read_masks()[0]).tolist() == [128, 255]


@pytest.mark.parametrize(
    ("images", "labels"), [("701_StillsRaw_full", "LabeledApproved_full"), ("train", "train_labels")]
)
def test_camvid_is_found_in_its_original_and_in_copies(tmp_path, write_picture, images, labels):
    car = make_label((CAMVID_COLOURS["Car"], 50), (CAMVID_COLOURS["Road"], 450))
    for name in ("0001TP_006690", "Seq05VD_f02610"):  # the second one's label is damaged in the real set
        write_picture(tmp_path / images / f"{name}.png", size=(25, 20))
        write_picture(tmp_path / labels / f"{name}_L.png", car)
    data = DATASETS["camvid"](tmp_path, "Car")
    assert [item.name for item in data.items["Car"]] == ["0001TP_006690.png"]
