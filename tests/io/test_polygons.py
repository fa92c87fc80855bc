"""Outlines give the identical mask, by our rasteriser and by pycocotools'."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mask_examples import MASKS, make_large_mask, masks
from pycocotools import mask as coco_mask
from skimage.measure import points_in_poly

from segvote.errors import BadInputError
from segvote.io.encodings.polygons import bridge_holes, rasterise, trace_polygons

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def fill(polygons, mask):
    return rasterise([ring for polygon in polygons for ring in polygon.rings], *mask.shape)


def fill_by_coco(rings, mask):
    flat = [ring.astype(float).ravel().tolist() for ring in rings]
    return coco_mask.decode(coco_mask.merge(coco_mask.frPyObjects(flat, *mask.shape))).astype(bool)


@pytest.mark.parametrize("name", MASKS)
def test_outlines_fill_to_the_identical_mask(name):
    np.testing.assert_array_equal(fill(trace_polygons(MASKS[name]), MASKS[name]), MASKS[name])


@given(mask=masks())
def test_any_mask_comes_back(mask):
    np.testing.assert_array_equal(fill(trace_polygons(mask), mask), mask)


@given(mask=masks())
def test_bridged_rings_fill_to_the_identical_mask(mask):
    filled = [rasterise([bridge_holes(polygon)], *mask.shape) for polygon in trace_polygons(mask)]
    np.testing.assert_array_equal(np.any(filled, axis=0) if filled else np.zeros_like(mask), mask)
    assert np.sum(filled, axis=0).max() <= 1  # no pixel twice


@given(mask=masks())
def test_pycocotools_fills_bridged_rings_to_the_identical_mask(mask):
    rings = [bridge_holes(polygon) for polygon in trace_polygons(mask)]
    if rings:
        np.testing.assert_array_equal(fill_by_coco(rings, mask), mask)


@given(mask=masks())
def test_one_polygon_per_region_one_ring_per_hole(mask):
    polygons = trace_polygons(mask)
    assert len(polygons) == cv2.connectedComponents(mask.astype(np.uint8), connectivity=4)[0] - 1
    outside = np.pad(~mask, 1, constant_values=True).astype(np.uint8)
    n_holes = cv2.connectedComponents(outside, connectivity=8)[0] - 2
    assert sum(len(polygon.holes) for polygon in polygons) == n_holes


def test_a_rectangle_has_four_points_from_its_top_left_corner():
    mask = np.zeros((6, 9), bool)
    mask[1:4, 2:7] = True
    (polygon,) = trace_polygons(mask)
    assert polygon.outer.tolist() == [[2, 1], [7, 1], [7, 4], [2, 4]]
    assert polygon.holes == ()


def test_an_island_in_a_hole_is_its_own_polygon():
    polygons = trace_polygons(MASKS["island in a hole"])
    assert [len(polygon.holes) for polygon in polygons] == [1, 0]


def test_a_large_mask_comes_back():
    mask = make_large_mask()
    polygons = trace_polygons(mask)
    np.testing.assert_array_equal(fill(polygons, mask), mask)
    np.testing.assert_array_equal(rasterise([bridge_holes(p) for p in polygons], *mask.shape), mask)


@given(points=st.lists(st.tuples(st.integers(-30, 150), st.integers(-30, 150)), min_size=3, max_size=8))
def test_free_polygons_are_filled_at_pixel_centres(points):
    # Tenths plus .03 keep every edge away from the centres, where the two judges may differ.
    ring = np.array(points) / 10 + 0.03
    y, x = np.mgrid[:10, :12] + 0.5
    inside = points_in_poly(np.column_stack([x.ravel(), y.ravel()]), ring).reshape(10, 12)
    ours = rasterise([ring], 10, 12)
    edges = np.column_stack([ring, np.roll(ring, -1, axis=0)])
    near = np.any([_is_near(x, y, *edge) for edge in edges], axis=0)
    np.testing.assert_array_equal(ours[~near], inside[~near])


def _is_near(x, y, x0, y0, x1, y1):
    length = max(np.hypot(x1 - x0, y1 - y0), 1e-12)
    return np.abs((x - x0) * (y1 - y0) - (y - y0) * (x1 - x0)) / length < 1e-6


def test_blocks_of_edges_do_not_change_the_mask(monkeypatch):
    ring = np.random.default_rng(0).random((200, 2)) * 30
    whole = rasterise([ring], 20, 25)
    monkeypatch.setattr("segvote.io.encodings.polygons._MAX_CROSSINGS", 60)
    np.testing.assert_array_equal(rasterise([ring], 20, 25), whole)


@pytest.mark.parametrize("ring", [[[0, 0], [np.nan, 1], [2, 2]], [[0, 0], [1e300, 1], [2, 2]], [[0, 0, 0]], [1, 2, 3]])
def test_damaged_rings_are_refused(ring):
    with pytest.raises(BadInputError, match="polygon"):
        rasterise([np.array(ring)], 5, 5)


def test_no_rings_and_degenerate_rings_fill_nothing():
    assert not rasterise([], 3, 4).any()
    assert not rasterise([np.empty((0, 2)), np.array([[1, 1]]), np.array([[0, 0], [3, 3]])], 3, 4).any()
