import numpy as np
import pytest
from scipy.io import savemat

from segvote.datasets import DATASETS
from segvote.errors import BadInputError

XML = (
    "<annotation><filename>{name}.jpg</filename><object><name>{target}</name><bndbox>"
    "<xmin>3</xmin><ymin>2</ymin><xmax>12</xmax><ymax>9</ymax></bndbox></object></annotation>"
)


@pytest.fixture
def ranges(tmp_path, write_picture):
    for class_name in ("bird", "boat"):
        for number in range(1, 11):
            write_picture(tmp_path / class_name / f"{number:08d}.jpg")
        (tmp_path / "Ranges").mkdir(exist_ok=True)
        # start, end (inclusive), video; the last shot's frames are not on disk.
        shots = np.array([[1, 5, 6, 50], [4, 5, 10, 60], [1, 1, 2, 2]], dtype=np.uint16)
        savemat(tmp_path / "Ranges" / f"ranges_{class_name}.mat", {"ranges": shots})
    folder = tmp_path / "GroundTruth/bird"
    folder.mkdir(parents=True)
    for part, number in (("Training", 2), ("Test", 7)):
        records = np.empty((1, 2), dtype=[("im", object), ("boxes", object)])
        records[0, 0] = (f"bird{number:08d}", np.array([[1, 2, 11, 12]], dtype=float))
        records[0, 1] = (f"bird{number + 2:08d}", np.array([[1, 2, 3, 4], [9, 2, 5, 8]], dtype=float))
        savemat(folder / f"bb_gt{part}_bird.mat", {f"bb_gt{part}": records})
    return tmp_path


def test_ranges_are_inclusive_shots(ranges):
    data = DATASETS["youtube-objects-v2.2"](ranges)
    assert data.classes == ["bird", "boat"]
    birds = data.select("bird", "with")
    assert [item.name for item in birds] == ["bird/0001/0000", "bird/0001/0001", "bird/0002/0002"]
    assert [len(item.frames) for item in birds] == [4, 1, 5]
    assert all(item.is_video for item in birds) and len(data.select("bird", "without")) == 3


def test_boxes_of_both_parts_find_their_frames(ranges):
    birds = DATASETS["youtube-objects-v2.2"](ranges, "bird").select("bird", "with")
    assert [sorted(item.boxes) for item in birds] == [[1, 3], [], [1, 3]]
    assert birds[0].read_boxes()[1].tolist() == [[1, 2, 11, 12]]
    assert birds[2].read_boxes()[3].tolist() == [[1, 2, 3, 4], [5, 2, 9, 8]]


@pytest.mark.parametrize("start", ["", "YTOdevkit", "YTOdevkit/YTO"])
def test_v23_is_found_from_each_of_its_folders(tmp_path, write_picture, start):
    folder = tmp_path / "YTOdevkit/YTO"
    (folder / "Annotations").mkdir(parents=True)
    for name, target in (("cat_00000012", "cat"), ("cow_00000007", "cow"), ("cow_00000099", "cow")):
        (folder / "Annotations" / f"{name}.xml").write_text(XML.format(name=name, target=target))
        if not name.endswith("99"):  # an annotation whose image is missing
            write_picture(folder / "JPEGImages" / f"{name}.jpg")
    data = DATASETS["youtube-objects-v2.3"](tmp_path / start)
    assert data.classes == ["cat", "cow"]
    (cat,) = data.select("cat", "with")
    assert cat.name == "cat_00000012.jpg" and not cat.is_video
    assert cat.read_boxes()[0].tolist() == [[2, 1, 12, 9]]
    assert [item.name for item in data.select("cat", "without")] == ["cow_00000007.jpg"]


def test_v23_without_annotations_says_what_to_unpack(tmp_path):
    (tmp_path / "Annotations").mkdir()
    (tmp_path / "JPEGImages").mkdir()
    with pytest.raises(BadInputError, match="YTOAnnotations"):
        DATASETS["youtube-objects-v2.3"](tmp_path)
