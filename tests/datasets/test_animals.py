import numpy as np
import pytest

from segvote.datasets import DATASETS
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


def test_horses_have_no_without_images_of_their_own(tmp_path, write_picture):
    write_picture(tmp_path / "rgb/horse001.jpg")
    write_picture(tmp_path / "figure_ground/horse001.jpg")
    assert DATASETS["weizmann-horses"](tmp_path).select("horse", "without") == []
