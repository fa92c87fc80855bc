"""The smart click on drawn pictures, against the plain formula, and in headless Chromium."""

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.masks import Superpixels
from segvote.review.smart_click import find_region, list_nested
from segvote.segmentation.labels import list_edges

SIDE = 12  # superpixels, of four by four pixels each


def make_superpixels(colours, segments):
    """A chessboard of superpixels with colours (SIDE, SIDE, 3) and segments (SIDE, SIDE)."""
    labels = np.kron(np.arange(SIDE * SIDE).reshape(SIDE, SIDE), np.ones((4, 4), dtype=int))
    edges, lengths = list_edges(labels)
    areas = np.full(SIDE * SIDE, 16.0)
    return Superpixels(labels, areas, colours.reshape(-1, 3), edges, lengths, segments.ravel())


@pytest.fixture
def drawn():
    """A bright square of five superpixels a side on a dark ground; every segment has two columns."""
    colours = np.full((SIDE, SIDE, 3), 20.0) + np.random.default_rng(0).normal(0, 1, (SIDE, SIDE, 3))
    colours[3:8, 4:9] += 50
    return make_superpixels(colours, np.tile(np.arange(SIDE) // 2, (SIDE, 1)))


def draw_square(scale=1):
    square = np.zeros((SIDE * 4 * scale, SIDE * 4 * scale), dtype=bool)
    square[12 * scale : 32 * scale, 16 * scale : 36 * scale] = True
    return square


def list_nested_plainly(graph, start, allowed):
    """Every region from its definition."""
    order, contrasts = [start], []
    while True:
        pairs = [
            (length, one, other) if one in order else (length, other, one)
            for (one, other), length in zip(graph.edges.tolist(), graph.lengths, strict=True)
            if allowed[one] and allowed[other] and (one in order) != (other in order)
        ]
        steps = [length * np.linalg.norm(graph.colours[one] - graph.colours[other]) for length, one, other in pairs]
        contrasts.append(sum(steps) / sum(length for length, *_ in pairs) if pairs else 0.0)
        if not pairs:
            return order, contrasts
        mean = np.average(graph.colours[order], axis=0, weights=graph.areas[order])
        outer = sorted({other for _, _, other in pairs})
        order.append(min(outer, key=lambda other: np.linalg.norm(graph.colours[other] - mean)))


def test_nested_regions_are_those_of_the_formula():
    rng = np.random.default_rng(1)
    graph = make_superpixels(rng.normal(size=(SIDE, SIDE, 3)), np.zeros((SIDE, SIDE), dtype=int))
    allowed = rng.random(SIDE * SIDE) < 0.8
    allowed[30] = True
    order, contrasts = list_nested(graph, 30, allowed)
    plain_order, plain_contrasts = list_nested_plainly(graph, 30, allowed)
    assert order.tolist() == plain_order
    np.testing.assert_allclose(contrasts, plain_contrasts, atol=1e-9)


@pytest.mark.parametrize("scale", [1, 3])
def test_a_click_takes_the_square_that_no_segment_fits(drawn, scale):
    empty = np.zeros((SIDE * 4 * scale, SIDE * 4 * scale), dtype=bool)
    region = find_region(drawn, empty, np.full(6, 0.4), np.array([26.0, 22.0]) * scale, 1)
    np.testing.assert_array_equal(region, draw_square(scale))


def test_a_click_on_the_mask_stays_inside_it(drawn):
    mask = np.zeros((SIDE * 4, SIDE * 4), dtype=bool)
    mask[:, 16:] = True  # the square, and all to its right
    region = find_region(drawn, mask, np.full(6, 0.6), np.array([44.0, 44.0]), 0)
    assert region.any() and not (region & ~mask).any() and not (region & draw_square()).any()


def test_votes_decide_where_the_picture_has_no_edges():
    flat = make_superpixels(np.random.default_rng(0).normal(50, 1, (SIDE, SIDE, 3)), np.repeat(np.arange(2), 72))
    empty = np.zeros((SIDE * 4, SIDE * 4), dtype=bool)
    point = np.array([24.0, 22.0])  # of the upper segment, beside the lower
    region = find_region(flat, empty, np.array([0.9, 0.0]), point, 1)
    assert region[:24].mean() > 4 * region[24:].mean()


def test_a_place_outside_the_image_is_refused(drawn):
    with pytest.raises(BadInputError, match="inside the image"):
        find_region(drawn, draw_square(), np.full(6, 0.5), np.array([-1.0, 5.0]), 1)
