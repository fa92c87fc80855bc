"""Superpixels come from the tree of the segments and are kept; masks drawn along them are those drawn anew."""

from functools import partial

import numpy as np
import pytest
from PIL import Image
from skimage import data

from segvote.io.images import resize_image, resize_labels
from segvote.masks import Drawing, draw_mask
from segvote.pipeline.drawing.images import draw_image, draw_stored
from segvote.pipeline.superpixels import fetch_superpixels, measure_superpixels, segment_superpixels
from segvote.run.run_folder import RunFolder
from segvote.segmentation.hierarchy import crop_segmentation
from segvote.segmentation.ward import segment_ward
from segvote.selection import make_selection

REGIONS = Drawing("regions")


@pytest.fixture(scope="module")
def cat():
    return resize_image(data.cat(), 160)


def decide(segments, seed=0):
    rng = np.random.default_rng(seed)
    heat = rng.random(40).astype(np.float32)
    return make_selection(heat, heat > 0.5, 0.5, rng.integers(-1, 2, 40)), segments, heat


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
    found = measure_superpixels(cat.astype(np.float32), segments, fine.labels).segments
    for superpixel, segment in enumerate(found):
        counts = np.bincount(segments[fine.labels == superpixel])
        assert segment == np.flatnonzero(counts == counts.max())[-1]


def test_kept_superpixels_need_no_picture(cat, tmp_path):
    segments = segment_ward(cat, 40).labels
    Image.fromarray(cat).save(tmp_path / "cat.png")
    cut = fetch_superpixels(RunFolder(tmp_path), "key", segments, tmp_path / "cat.png")
    kept = fetch_superpixels(RunFolder(tmp_path), "key", segments, tmp_path / "no such file")
    assert np.array_equal(cut.labels, kept.labels)
    for name, values in vars(cut).items():
        assert np.array_equal(values, getattr(kept, name)), name


def test_small_pictures_are_drawn_without_their_pixels(cat):
    arrays = decide(segment_ward(cat, 40).labels)
    superpixels = segment_superpixels(cat, arrays[1])
    drawn = draw_mask(*arrays, superpixels, REGIONS, 160, partial(pytest.fail, "the picture was read"))
    assert np.array_equal(draw_image(cat, *arrays, REGIONS), drawn)


@pytest.mark.parametrize("way", ["regions", "lines", "segments"])
def test_masks_in_memory_are_those_of_a_run(tmp_path, way):
    picture = resize_image(data.cat(), 300)
    arrays = decide(segment_ward(resize_image(picture, 160), 40).labels)
    Image.fromarray(picture).save(tmp_path / "cat.png")
    drawing = Drawing(way, low=2.0, high=4.0)
    stored = draw_stored(RunFolder(tmp_path), "key", tmp_path / "cat.png", *arrays, drawing, 300)
    assert np.array_equal(resize_labels(stored, picture.shape[:2]), draw_image(picture, *arrays, drawing))


@pytest.mark.parametrize("longest", [160, 300])
def test_user_labels_hold_to_the_pixel(longest):
    picture = resize_image(data.cat(), longest)
    segments = segment_ward(resize_image(picture, 160), 40).labels
    heat, user_labels = np.linspace(0, 1, 40), np.full(40, -1)
    user_labels[[3, 35]] = 1, 0
    mask = draw_image(picture, make_selection(heat, heat > 0.5, 0.5, user_labels), segments, heat, REGIONS)
    labels = resize_labels(segments, mask.shape)
    assert mask[labels == 3].all()
    assert not mask[labels == 35].any()
