import numpy as np
import pytest

from segvote.errors import BadInputError, UnknownNameError
from segvote.review.strokes import Stroke, check_stroke, draw_stroke, snap_to_superpixels, trace_outline

EMPTY = np.zeros((20, 30), dtype=bool)


def draw(tool, *points, radius=0.5, mask=EMPTY, value=1):
    return draw_stroke(Stroke(tool, np.array(points, dtype=float), radius), mask, value)


def test_a_point_of_the_smallest_brush_is_one_pixel():
    assert np.argwhere(draw("brush", (4.5, 7.5))).tolist() == [[7, 4]]
    assert np.argwhere(draw("brush", (4.01, 7.99))).tolist() == [[7, 4]]


def test_a_brush_covers_pixel_centres_within_its_radius():
    points, radius = [(5.0, 5.0), (20.3, 9.7), (12.0, 15.0)], 2.6
    rows, columns = np.indices(EMPTY.shape) + 0.5
    nearest = np.full(EMPTY.shape, np.inf)
    for (x0, y0), (x1, y1) in (points[:2], points[1:]):
        for share in np.linspace(0, 1, 2000):
            distance = np.hypot(columns - x0 - share * (x1 - x0), rows - y0 - share * (y1 - y0))
            nearest = np.minimum(nearest, distance)
    differ = draw("brush", *points, radius=radius) != (nearest <= radius)
    assert (np.abs(nearest[differ] - radius) < 0.01).all()


def test_a_polygon_is_the_pixels_whose_centre_lies_inside():
    pixels = draw("polygon", (2, 3), (9, 3), (9, 8), (2, 8))
    assert pixels.sum() == 7 * 5 and pixels[3:8, 2:9].all()


def test_a_fill_takes_the_connected_part_and_leaves_the_rest():
    mask = EMPTY.copy()
    mask[2:12, 2:12], mask[5:8, 5:8] = True, False
    hole = draw("fill", (6.5, 6.5), mask=mask)
    assert hole.sum() == 9 and hole[5:8, 5:8].all()
    blob = draw("fill", (3.5, 3.5), mask=mask, value=0)
    np.testing.assert_array_equal(blob, mask)
    with pytest.raises(BadInputError, match="already"):
        draw("fill", (3.5, 3.5), mask=mask, value=1)


def test_an_outline_is_that_of_the_region_under_a_point():
    mask = EMPTY.copy()
    mask[2:12, 2:12], mask[5:8, 5:8], mask[15:18, 20:25] = True, False, True
    corners = trace_outline(mask, check_stroke("fill", [3, 3]))
    assert sorted(map(tuple, corners.tolist())) == [(2, 2), (2, 12), (12, 2), (12, 12)]
    for place in ([6, 6], [99, 3]):  # a hole, and outside the image
        with pytest.raises(BadInputError):
            trace_outline(mask, check_stroke("fill", place))


@pytest.mark.parametrize(
    ("tool", "points"), [("brush", [(-9, -9), (-5, -5)]), ("polygon", [(40, 40), (50, 40), (50, 50)])]
)
def test_a_stroke_outside_is_refused_with_the_size_of_the_image(tool, points):
    with pytest.raises(BadInputError, match="30 x 20"):
        draw(tool, *points)


def test_a_snapped_stroke_is_made_of_whole_superpixels():
    superpixels = np.kron(np.arange(6).reshape(2, 3), np.ones((10, 10), dtype=int))
    square = Stroke("polygon", np.array([(1, 1), (12, 1), (12, 9), (1, 9)], dtype=float))
    pixels = draw_stroke(square, EMPTY, 1)
    snapped = snap_to_superpixels(pixels, square, superpixels)
    np.testing.assert_array_equal(snapped, superpixels == 0)
    line = Stroke("brush", np.array([(5.0, 5.0), (15.0, 5.0)]), 1.0)
    snapped = snap_to_superpixels(draw_stroke(line, EMPTY, 1), line, superpixels)
    np.testing.assert_array_equal(snapped, superpixels < 2)


@pytest.mark.parametrize(
    ("tool", "points", "radius"),
    [
        ("brush", [], 1.0),
        ("brush", [1], 1.0),
        ("brush", [float("nan"), 1], 1.0),
        ("brush", [1e30, 1], 1.0),
        ("brush", [1, 1], 0),
        ("brush", [1, 1], float("nan")),
        ("brush", [1, 1] * (1 << 14), 1.0),
        ("polygon", [1, 1, 2, 2], 1.0),
    ],
)
def test_what_is_no_stroke_is_refused(tool, points, radius):
    with pytest.raises(BadInputError):
        check_stroke(tool, points, radius)


def test_an_unknown_tool_is_refused_with_the_known_ones():
    with pytest.raises(UnknownNameError, match="brush, fill, polygon, smart"):
        check_stroke("pencil", [1, 1])
