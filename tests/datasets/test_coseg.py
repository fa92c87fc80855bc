"""Co-segmentation sets: masks beside the images, and evenly spaced images of other classes."""

import numpy as np
import pytest

from segvote.datasets import DATASETS
from segvote.datasets import coseg as coseg_module
from segvote.datasets.coseg import PUBLISHED, VOC_CLASSES


@pytest.fixture
def folder(tmp_path, write_picture, half_mask):
    mask = np.where(half_mask, 255, 0).astype(np.uint8)
    for name, count in (("bird", 2), ("boat", 4), ("cat", 4)):
        for number in range(count):
            write_picture(tmp_path / "VOC" / name / f"{number}.JPG", format="JPEG")
    write_picture(tmp_path / "VOC/bird/0.png", mask)
    write_picture(tmp_path / "VOC/boat/GroundTruth/3.png", mask)
    return tmp_path


def test_masks_lie_beside_their_images(folder, half_mask):
    data = DATASETS["coseg"](folder)
    assert data.classes == ["bird", "boat", "cat"]
    first, second = data.select("bird", "with")
    assert first.name == "bird/0.JPG" and np.array_equal(first.masks[0]() == 255, half_mask)
    assert not second.has_truth
    assert [item.has_truth for item in data.select("boat", "with")] == [False, False, False, True]


def test_absent_images_are_evenly_spaced(folder, monkeypatch):
    monkeypatch.setattr(coseg_module, "LEAST_WITHOUT", 3)
    data = DATASETS["coseg"](folder)
    assert [item.name for item in data.select("bird", "without")] == ["boat/0.JPG", "cat/0.JPG", "cat/3.JPG"]
    assert len(data.select("boat", "without")) == 4  # as many as there are boats
    assert not any(item.has_truth for item in data.select("bird", "without"))


def test_published_figures_have_sources():
    assert len(VOC_CLASSES) == 20 and tuple(sorted(VOC_CLASSES)) == VOC_CLASSES
    assert all(one.source[-4:].isdigit() and one.name[-4:] == one.source[-4:] for one in PUBLISHED)
