"""Label Studio's brush comes back identical, also as its own page writes it."""

import numpy as np
import pytest
from hypothesis import given
from mask_examples import MASKS, make_large_mask, masks

from segvote.errors import BadInputError
from segvote.io.encodings.rle import decode_brush, encode_brush


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


@given(mask=masks())
def test_any_mask_comes_back(mask):
    np.testing.assert_array_equal(decode_brush(encode_brush(mask), *mask.shape), mask)


@pytest.mark.parametrize("name", MASKS)
def test_all_four_channels_hold_the_mask(name):
    values = decode_slowly(encode_brush(MASKS[name])).reshape(*MASKS[name].shape, 4)
    np.testing.assert_array_equal(values, np.repeat(MASKS[name][..., None] * 255, 4, axis=2))


def test_a_large_mask_comes_back():
    mask = make_large_mask()
    np.testing.assert_array_equal(decode_brush(encode_brush(mask), *mask.shape), mask)


def test_runs_longer_than_a_field_are_split():
    mask = np.ones((1, 3 * 65536 // 4), bool)
    np.testing.assert_array_equal(decode_brush(encode_brush(mask), *mask.shape), mask)


@pytest.mark.parametrize("width", [3, 5])
def test_single_values_and_other_field_widths_are_read(width):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 4))
    stream = encode_literally(pixels.ravel().tolist(), width)
    np.testing.assert_array_equal(decode_brush(stream, 5, 7), pixels[..., 3] >= 128)


@pytest.mark.parametrize("damage", ["short", "long run", "text", "not bytes", "other size", "wide values"])
def test_damaged_brushes_are_refused(damage):
    stream = encode_brush(MASKS["hole"])
    height, width = MASKS["hole"].shape
    stream = {
        "short": stream[:9],
        "long run": [*stream[:7], *[255] * 50],
        "text": "abc",
        "not bytes": [300, 1],
        "other size": encode_brush(MASKS["full"]),
        "wide values": [*stream[:4], 255, *stream[5:]],
    }[damage]
    with pytest.raises(BadInputError, match="brush"):
        decode_brush(stream, height, width)
