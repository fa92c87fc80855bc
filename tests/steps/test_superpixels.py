"""Superpixels come from the tree of the segments and are kept; masks drawn along them are those drawn anew."""

import numpy as np
import pytest
from PIL import Image
from skimage import data

from segvote.io.images import resize_image
from segvote.masks.drawing import draw_mask_along
from segvote.run.run_folder import RunFolder
from segvote.segmentation.hierarchy import crop_segmentation
from segvote.segmentation.ward import segment_ward
from segvote.steps.superpixels import draw_mask, fetch_superpixels, measure_superpixels, segment_superpixels


@pytest.fixture(scope="module")
def cat():
    return resize_image(data.cat(), 160)


def test_segments_of_the_superpixel_tree_are_the_same(cat):
    fine = segment_ward(cat, n_segments=400)
    at_once, later = segment_ward(cat, 40), crop_segmentation(fine.labels, fine.parents, fine.altitudes, 40)
    for name in ("labels", "parents", "altitudes"):
        assert np.array_equal(getattr(at_once, name), getattr(later, name))


@pytest.mark.parametrize("nested", [True, False])
def test_a_superpixel_belongs_to_its_majority_segment(cat, nested):
    fine = segment_ward(cat, n_segments=400)
    if nested:
        segments = crop_segmentation(fine.labels, fine.parents, fine.altitudes, 40).labels
    else:
        segments = np.add.outer(np.arange(len(cat)) // 5 * 9, np.arange(cat.shape[1]) // 20)
    found = measure_superpixels(cat.astype(np.float32), segments, fine.labels).superpixels.segments
    for superpixel, segment in enumerate(found):
        counts = np.bincount(segments[fine.labels == superpixel])
        assert segment == np.flatnonzero(counts == counts.max())[-1]


def test_kept_superpixels_need_no_picture(cat, tmp_path):
    segments = segment_ward(cat, 40).labels
    Image.fromarray(cat).save(tmp_path / "cat.png")
    cut = fetch_superpixels(RunFolder(tmp_path), "key", 300, segments, tmp_path / "cat.png")
    kept = fetch_superpixels(RunFolder(tmp_path), "key", 300, segments, tmp_path / "no such file")
    assert np.array_equal(cut.labels, kept.labels)
    for name, values in vars(cut.superpixels).items():
        assert np.array_equal(values, getattr(kept.superpixels, name)), name


def test_masks_of_kept_superpixels_are_the_same(cat):
    segments = segment_ward(cat, 40).labels
    rng = np.random.default_rng(0)
    heat = rng.random(40).astype(np.float32)
    fixed = rng.integers(-1, 2, 40)
    drawn = draw_mask(cat, segments, heat, heat > 0.5, fixed, 300)
    along = draw_mask_along(segment_superpixels(cat, segments, 300), segments, heat, heat > 0.5, fixed, cat.shape[:2])
    assert np.array_equal(drawn, along)


def test_a_persons_word_stands_to_the_pixel(cat):
    segments = segment_ward(cat, 40).labels
    heat, fixed = np.linspace(0, 1, 40), np.full(40, -1)
    fixed[[3, 35]] = 1, 0
    mask = draw_mask(cat, segments, heat, heat > 0.5, fixed, 300)
    assert mask[segments == 3].all()
    assert not mask[segments == 35].any()
