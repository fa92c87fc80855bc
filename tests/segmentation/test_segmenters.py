"""What every segmenter of the registry promises, on pictures that can be drawn by hand."""

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.segmentation import SEGMENTERS
from segvote.segmentation.hierarchy import cut_tree
from segvote.segmentation.labels import relabel_connected
from segvote.types import Segmentation

SHAPES = [(1, 1), (1, 7), (7, 1), (2, 2), (5, 5), (30, 40)]
CORNERS = [np.s_[:20, :30], np.s_[:20, 50:], np.s_[40:, :30], np.s_[40:, 50:]]


@pytest.fixture(params=list(SEGMENTERS))
def segment(request):
    return SEGMENTERS[request.param]


def make_noise(shape):
    return np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)


def make_quarters():
    """Four flat colours that meet in the middle, with a little noise."""
    image = np.empty((60, 80, 3), np.uint8)
    image[:30, :40], image[:30, 40:], image[30:, :40], image[30:, 40:] = (
        (200, 40, 40),
        (40, 160, 40),
        (40, 40, 200),
        (220, 220, 60),
    )
    return image + np.random.default_rng(0).integers(0, 8, image.shape, dtype=np.uint8)


def assert_is_segmentation(result, shape, n_segments):
    assert isinstance(result, Segmentation)
    assert result.labels.shape == shape and result.labels.dtype == np.int32
    assert 1 <= result.n_segments <= n_segments
    np.testing.assert_array_equal(result.labels, relabel_connected(result.labels))
    assert result.parents.dtype == np.int32 and result.altitudes.dtype == np.float32
    assert result.parents[-1] == len(result.parents) - 1
    assert (result.parents[:-1] > np.arange(len(result.parents) - 1)).all()
    assert (result.altitudes[result.parents] >= result.altitudes).all()


@pytest.mark.parametrize("n_segments", [1, 3, 200])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_image_gives_connected_gapless_segments_and_a_tree(segment, shape, n_segments):
    assert_is_segmentation(segment(make_noise(shape), n_segments), shape, n_segments)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_constant_image_can_be_segmented(segment, shape):
    assert_is_segmentation(segment(np.full((*shape, 3), 77, np.uint8)), shape, 200)


def test_flat_colours_are_kept_apart(segment):
    labels = segment(make_quarters(), 40).labels
    truth = np.repeat(np.repeat([[0, 1], [2, 3]], 30, axis=0), 40, axis=1)
    pure = sum(np.bincount(truth[labels == number]).max() for number in range(labels.max() + 1))
    assert pure / labels.size > 0.98


def test_the_tree_cut_at_four_gives_back_four_colours(segment):
    result = segment(make_quarters(), 40)
    regions = cut_tree(result.parents, result.altitudes, 4)[result.labels]
    assert [len(np.unique(regions[corner])) for corner in CORNERS] == [1, 1, 1, 1]
    assert len({int(regions[corner].flat[0]) for corner in CORNERS}) == 4


def test_the_same_image_gives_the_same_segments(segment):
    image = make_quarters()
    before = image.copy()
    first, second = segment(image), segment(image)
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.parents, second.parents)
    np.testing.assert_array_equal(image, before)


@pytest.mark.parametrize(
    "image",
    [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)],
    ids=["grey", "float", "empty"],
)
def test_an_invalid_image_is_an_error(segment, image):
    with pytest.raises(BadInputError, match="uint8 RGB"):
        segment(image)


def test_no_segment_at_all_is_refused(segment):
    with pytest.raises(BadInputError, match="at least 1"):
        segment(make_noise((4, 4)), 0)
