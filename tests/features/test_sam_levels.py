"""Part, object and whole of a promptable network: their order, and the prompt that the decoder gets."""

import numpy as np
import pytest

from made_sam import make_encoder, make_levels
from segvote.features.networks.sam import Sam, enlarge
from segvote.features.networks.sam_levels import find_levels, order_levels
from segvote.features.networks.weights import list_weights

AREAS = np.array([50, 90, 10, 40])


def number_masks(areas):
    """(n, 1, 1) logits that are the numbers of the masks."""
    return np.arange(len(areas), dtype=np.float32).reshape(-1, 1, 1)


@pytest.mark.parametrize(
    ("areas", "is_box", "expected"),
    [
        (AREAS, False, [2, 3, 1]),  # the first of four is for unambiguous prompts
        (AREAS, True, [2, 0, 1]),
        (AREAS * [3, 1, 1, 1], True, [2, 1, 0]),
        (AREAS * [1, 1, 0, 1], False, [3, 3, 1]),
        (AREAS[:3], False, [2, 0, 1]),
        (AREAS[:1], True, [0, 0, 0]),
        (AREAS * 0, False, []),
    ],
)
def test_levels_are_ordered_by_area(areas, is_box, expected):
    assert order_levels(number_masks(areas), areas, is_box).ravel().tolist() == expected


class Asked:
    """Stands for a `Sam` and keeps what its decoder was asked."""

    def __init__(self):
        self.decoder = self

    def get_outputs(self):
        return []

    def decode(self, embedding, points, labels, shape, output):
        self.points, self.labels, self.output = points.tolist(), labels.tolist(), output
        return np.ones((1, 256, 256), np.float32)


def test_point_comes_with_the_point_that_stands_for_no_box():
    asked = Asked()
    find_levels(asked, None, np.array([[100.0, 50.0]]), (200, 400))
    assert asked.points == [[256, 128], [0, 0]] and asked.labels == [1, -1]
    assert asked.output == "low_res_masks"


def test_box_is_two_labelled_corners():
    asked = Asked()
    find_levels(asked, None, np.array([[100.0, 50.0], [400.0, 200.0]]), (200, 400))
    assert asked.points == [[256, 128], [1024, 512]] and asked.labels == [2, 3]


@pytest.mark.parametrize("shape", [(120, 160), (160, 120)])
def test_made_network_gives_core_box_and_everything(tmp_path, shape):
    picture = np.full((*shape, 3), 110, np.uint8)
    picture[40:90, 30:100] = (220, 30, 30)
    picture[55:75, 50:80] = (220, 30, 220)
    sam = Sam(f"sam:{make_encoder(tmp_path / 'encoder.onnx')},{make_levels(tmp_path / 'levels.onnx')}")
    levels = find_levels(sam, sam.embed(picture), np.array([[65.0, 65.0]]), shape)
    part, thing, whole = (enlarge(one, shape) for one in levels)
    assert part[58:72, 53:77].all() and part.sum() < 1.4 * 20 * 30
    assert thing[43:87, 33:97].all() and thing.sum() < 1.2 * 50 * 70
    assert whole.all()


@pytest.mark.skipif(
    not any(one.name == "mobile-sam" for one in list_weights()), reason="segvote-mobile-sam is not installed"
)
def test_installed_network_finds_the_disc_by_point_and_box():
    rows, columns = np.mgrid[:240, :320]
    disc = np.hypot(rows - 120, columns - 150) < 60
    noise = np.random.default_rng(0).integers(-12, 12, (240, 320, 3))
    picture = (np.where(disc[..., None], (200, 60, 40), (70, 120, 80)) + noise).astype(np.uint8)
    sam = Sam("mobile-sam")
    embedding = sam.embed(picture)
    for corners in ([[150.0, 120.0]], [[85.0, 55.0], [215.0, 185.0]]):
        found = [enlarge(one, disc.shape) for one in find_levels(sam, embedding, np.array(corners), disc.shape)]
        ious = [(mask & disc).sum() / (mask | disc).sum() for mask in found]
        assert max(ious) > 0.95 and found[0].sum() <= found[1].sum() <= found[2].sum()
