"""Run lengths are exact, equal to pycocotools' to the character, and damaged ones are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mask_examples import MASKS, make_large_mask, masks
from pycocotools import mask as coco_mask

from segvote.errors import BadInputError
from segvote.io.encodings.rle import count_runs, decode_rle, encode_rle, fill_runs, pack_counts, unpack_counts

# pycocotools 2.0.11 predates numpy's new copy keyword.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def encode_by_coco(mask):
    return coco_mask.encode(np.asfortranarray(mask.astype(np.uint8)))["counts"].decode()


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
    mask = MASKS[name]
    assert encode_rle(mask) == {"size": list(mask.shape), "counts": encode_by_coco(mask)}
    np.testing.assert_array_equal(coco_mask.decode(encode_rle(mask)), mask)


@pytest.mark.parametrize("packed", [True, False])
@given(mask=masks())
def test_any_mask_comes_back(packed, mask):
    plain = {"size": list(mask.shape), "counts": count_runs(mask.ravel(order="F")).tolist()}
    np.testing.assert_array_equal(decode_rle(encode_rle(mask) if packed else plain), mask)


@given(mask=masks())
def test_runs_equal_the_slow_count(mask):
    assert count_runs(mask.ravel()).tolist() == count_runs_slowly(mask.ravel())


@given(counts=st.lists(st.integers(0, 2**40), min_size=1))
def test_packing_equals_the_slow_packing_and_comes_back(counts):
    assert pack_counts(counts) == pack_counts_slowly(counts)
    assert unpack_counts(pack_counts(counts)).tolist() == counts


def test_a_large_mask_comes_back():
    mask = make_large_mask()
    rle = encode_rle(mask)
    assert rle["counts"] == encode_by_coco(mask)
    np.testing.assert_array_equal(decode_rle(rle), mask)


def test_bytes_are_taken_for_text():
    mask = MASKS["hole"]
    np.testing.assert_array_equal(decode_rle(coco_mask.encode(np.asfortranarray(mask.astype(np.uint8)))), mask)


@pytest.mark.parametrize(
    "rle",
    [
        {},
        {"size": [2, 3]},
        {"size": [2, 3], "counts": [1, 2]},
        {"size": [2, 3], "counts": [7, -1]},
        {"size": [2, 3], "counts": [6, "x"]},
        {"size": [2, 3], "counts": [2**70]},
        {"size": [2, 3], "counts": [[6]]},
        {"size": [2, 3], "counts": [2**62, 2**62, 2**62, 2**62, 6]},
        {"size": [2, 3], "counts": "\x7f"},
        {"size": [2, 3], "counts": "é"},
        {"size": [2, 3], "counts": "o"},
        {"size": [2, 3], "counts": "o" * 40 + "0"},
        {"size": [2], "counts": "6"},
        {"size": [-2, -3], "counts": "6"},
        {"size": ["2", 3], "counts": "6"},
        {"size": [10**6, 10**6], "counts": [10**12]},
    ],
)
def test_damaged_run_lengths_are_refused(rle):
    with pytest.raises(BadInputError):
        decode_rle(rle)


def test_runs_of_no_pixels_are_empty():
    assert fill_runs([], 0).tolist() == []


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float32])
def test_masks_of_numbers_are_encoded_as_masks_of_truths(kind):
    mask = np.random.default_rng(0).random((7, 11)) < 0.4
    assert encode_rle((255 * mask).astype(kind)) == encode_rle(mask)
