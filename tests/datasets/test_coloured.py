import numpy as np
import pytest

from segvote.datasets import DATASETS
from segvote.datasets.coloured import CAMVID_COLOURS, FACADE_COLOURS, MSRC_COLOURS
from segvote.errors import BadInputError, UnknownNameError


def make_label(*parts, size=(20, 25)):
    """Fill a label image with colours, each a given number of pixels, the rest with the last colour."""
    label = np.empty((size[0] * size[1], 3), dtype=np.uint8)
    start = 0
    for colour, count in parts:
        label[start : start + count] = colour
        start += count
    return label.reshape(*size, 3)


@pytest.mark.parametrize("colours", [FACADE_COLOURS, MSRC_COLOURS, CAMVID_COLOURS])
def test_colours_are_different(colours):
    assert len(set(colours.values())) == len(colours) and (0, 0, 0) not in colours.values()


def test_msrc_has_23_and_camvid_31_classes_besides_void():
    assert (len(MSRC_COLOURS), len(CAMVID_COLOURS), len(FACADE_COLOURS)) == (23, 31, 8)


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


def test_a_trace_counts_when_it_is_asked_for(msrc):
    assert len(DATASETS["msrc-v2"](msrc, "cow", min_area=0.001).select("cow", "with")) == 2


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


def test_images_without_labels_are_an_error(tmp_path, write_picture):
    write_picture(tmp_path / "images/a.jpg")
    (tmp_path / "labels").mkdir()
    with pytest.raises(BadInputError, match="no pair"):
        DATASETS["labelmefacade"](tmp_path)
