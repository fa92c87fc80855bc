"""Run lengths, brushes and outlines give the identical mask, by our readers and by those of other tools."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mask_examples import MASKS, make_large_mask, masks
from pycocotools import mask as coco_mask
from skimage.measure import points_in_poly

from segvote.errors import BadInputError
from segvote.io.encodings.polygons import bridge_holes, list_outlines, rasterise, trace_polygons
from segvote.io.encodings.rle import (
    count_runs,
    decode_brush,
    decode_rle,
    encode_brush,
    encode_rle,
    pack_counts,
    unpack_counts,
)

# pycocotools 2.0.11 predates numpy's new copy keyword.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def fill_rings(mask):
    return rasterise([ring for polygon in trace_polygons(mask) for ring in polygon], *mask.shape)


def fill_by_coco(mask):
    flat = [ring.astype(float).ravel().tolist() for ring in list_outlines(mask)]
    if not flat:
        return np.zeros_like(mask)
    return coco_mask.decode(coco_mask.merge(coco_mask.frPyObjects(flat, *mask.shape))).astype(bool)


ROUND_TRIPS = {
    "packed": lambda mask: decode_rle(encode_rle(mask)),
    "plain": lambda mask: decode_rle({"size": list(mask.shape), "counts": count_runs(mask.ravel(order="F")).tolist()}),
    "coco": lambda mask: coco_mask.decode(encode_rle(mask)).astype(bool),
    "brush": lambda mask: decode_brush(encode_brush(mask), *mask.shape),
    "rings": fill_rings,
    "bridged rings": lambda mask: rasterise(list_outlines(mask), *mask.shape),
    "bridged rings, coco": fill_by_coco,
}


@pytest.mark.parametrize("way", ROUND_TRIPS)
@given(mask=masks())
def test_any_mask_comes_back(way, mask):
    np.testing.assert_array_equal(ROUND_TRIPS[way](mask), mask)


@pytest.mark.parametrize("way", ROUND_TRIPS)
def test_known_and_large_masks_come_back(way):
    for name, mask in {**MASKS, "large": make_large_mask()}.items():
        np.testing.assert_array_equal(ROUND_TRIPS[way](mask), mask, err_msg=name)


# Run lengths


def count_runs_slowly(pixels):
    counts, value, length = [], False, 0
    for pixel in pixels:
        if pixel != value:
            counts.append(length)
            value, length = pixel, 0
        length += 1
    return [*counts, length]


def pack_counts_slowly(counts):
    text = ""
    for index, count in enumerate(counts):
        number = count - counts[index - 2] if index > 2 else count
        while True:
            group, number = number & 31, number >> 5
            done = number == (-1 if group & 16 else 0)
            text += chr(48 + group + (0 if done else 32))
            if done:
                break
    return text


@pytest.mark.parametrize("name", MASKS)
def test_counts_equal_those_of_pycocotools(name):
    theirs = coco_mask.encode(np.asfortranarray(MASKS[name].astype(np.uint8)))
    assert encode_rle(MASKS[name]) == {"size": list(MASKS[name].shape), "counts": theirs["counts"].decode()}


@given(mask=masks())
def test_runs_equal_the_slow_count(mask):
    assert count_runs(mask.ravel()).tolist() == count_runs_slowly(mask.ravel())


@given(counts=st.lists(st.integers(0, 2**40), min_size=1))
def test_packing_equals_the_slow_packing(counts):
    assert pack_counts(counts) == pack_counts_slowly(counts)
    assert unpack_counts(pack_counts(counts)).tolist() == counts


@pytest.mark.parametrize(
    "rle",
    [
        {"size": [2, 3], "counts": [1, 2]},
        {"size": [2, 3], "counts": [7, -1]},
        {"size": [2, 3], "counts": [2**62, 2**62, 2**62, 2**62, 6]},
        {"size": [2, 3], "counts": "\x7f"},
        {"size": [2, 3], "counts": "o" * 40 + "0"},
        {"size": [-2, -3], "counts": "6"},
        {"size": [10**6, 10**6], "counts": [10**12]},
    ],
)
def test_damaged_run_lengths_are_refused(rle):
    with pytest.raises(BadInputError):
        decode_rle(rle)


# Label Studio's brush


def decode_slowly(stream):
    """As the format's description has it, bit by bit."""
    bits = "".join(f"{byte:08b}" for byte in stream)
    place = 0

    def read(n_bits):
        nonlocal place
        place += n_bits
        return int(bits[place - n_bits : place], 2)

    n_bytes, n_value_bits, widths = read(32), read(5) + 1, [read(4) + 1 for _ in range(4)]
    values = []
    while len(values) < n_bytes:
        is_run, count = read(1), 1 + read(widths[read(2)])
        values += [read(n_value_bits)] * count if is_run else [read(n_value_bits) for _ in range(count)]
    return np.array(values)


def encode_literally(values, width):
    """Single values only, in groups of at most eight, as a picture full of noise is written."""
    text = f"{len(values):032b}{7:05b}" + "".join(f"{w - 1:04b}" for w in (width, 4, 8, 16))
    for start in range(0, len(values), 8):
        group = values[start : start + 8]
        text += "000" + f"{len(group) - 1:0{width}b}" + "".join(f"{value:08b}" for value in group)
    text += "0" * (-len(text) % 8)
    return [int(text[place : place + 8], 2) for place in range(0, len(text), 8)]


@pytest.mark.parametrize("name", MASKS)
def test_all_four_channels_of_a_brush_hold_the_mask(name):
    values = decode_slowly(encode_brush(MASKS[name])).reshape(*MASKS[name].shape, 4)
    np.testing.assert_array_equal(values, np.repeat(MASKS[name][..., None] * 255, 4, axis=2))


def test_runs_longer_than_a_field_are_split():
    mask = np.ones((1, 3 * 65536 // 4), bool)
    np.testing.assert_array_equal(decode_brush(encode_brush(mask), *mask.shape), mask)


@pytest.mark.parametrize("width", [3, 5])
def test_single_values_and_other_field_widths_are_read(width):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 4))
    stream = encode_literally(pixels.ravel().tolist(), width)
    np.testing.assert_array_equal(decode_brush(stream, 5, 7), pixels[..., 3] >= 128)


BRUSH = encode_brush(MASKS["hole"])


@pytest.mark.parametrize(
    "stream",
    [
        BRUSH[:9],
        [*BRUSH[:7], *[255] * 50],
        encode_brush(MASKS["full"]),
        [*BRUSH[:4], 255, *BRUSH[5:]],
    ],
    ids=["short", "long run", "other size", "wide values"],
)
def test_damaged_brushes_are_refused(stream):
    with pytest.raises(BadInputError, match="brush"):
        decode_brush(stream, *MASKS["hole"].shape)


# Outlines


@given(mask=masks())
def test_one_polygon_per_region_one_ring_per_hole(mask):
    polygons = trace_polygons(mask)
    assert len(polygons) == cv2.connectedComponents(mask.astype(np.uint8), connectivity=4)[0] - 1
    outside = np.pad(~mask, 1, constant_values=True).astype(np.uint8)
    n_holes = cv2.connectedComponents(outside, connectivity=8)[0] - 2
    assert sum(len(polygon) - 1 for polygon in polygons) == n_holes
    filled = [rasterise([bridge_holes(polygon)], *mask.shape) for polygon in polygons]
    assert np.sum(filled, axis=0).max() <= 1  # no pixel twice


def test_a_rectangle_has_four_points_from_its_top_left():
    mask = np.zeros((6, 9), bool)
    mask[1:4, 2:7] = True
    ((outer,),) = trace_polygons(mask)
    assert outer.tolist() == [[2, 1], [7, 1], [7, 4], [2, 4]]


@given(points=st.lists(st.tuples(st.integers(-30, 150), st.integers(-30, 150)), min_size=3, max_size=8))
def test_free_polygons_are_filled_at_pixel_centres(points):
    # Tenths plus .03 keep every edge away from the centres, where the two judges may differ.
    ring = np.array(points) / 10 + 0.03
    y, x = np.mgrid[:10, :12] + 0.5
    inside = points_in_poly(np.column_stack([x.ravel(), y.ravel()]), ring).reshape(10, 12)
    edges = np.column_stack([ring, np.roll(ring, -1, axis=0)])
    near = np.any([_is_near(x, y, *edge) for edge in edges], axis=0)
    np.testing.assert_array_equal(rasterise([ring], 10, 12)[~near], inside[~near])


def _is_near(x, y, x0, y0, x1, y1):
    length = max(np.hypot(x1 - x0, y1 - y0), 1e-12)
    return np.abs((x - x0) * (y1 - y0) - (y - y0) * (x1 - x0)) / length < 1e-6


@pytest.mark.parametrize("ring", [[[0, 0], [np.nan, 1], [2, 2]], [[0, 0], [1e300, 1], [2, 2]]])
def test_damaged_rings_are_refused(ring):
    with pytest.raises(BadInputError, match="polygon"):
        rasterise([np.array(ring)], 5, 5)


def test_degenerate_rings_fill_nothing():
    assert not rasterise([], 3, 4).any()
    assert not rasterise([np.empty((0, 2)), np.array([[1, 1]]), np.array([[0, 0], [3, 3]])], 3, 4).any()
