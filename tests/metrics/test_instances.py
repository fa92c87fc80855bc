"""Single objects found: against a plain double loop, and by hand on images one can draw."""

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.metrics import InstanceCounts, match_instances, sum_instances


def list_parts(mask):
    """Sets of pixels that are connected, corners too, by flooding."""
    left, parts = {(int(y), int(x)) for y, x in zip(*np.nonzero(mask), strict=True)}, []
    while left:
        part, front = set(), [left.pop()]
        while front:
            y, x = front.pop()
            part.add((y, x))
            near = {(y + dy, x + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)} & left
            left -= near
            front += near
        parts.append(part)
    return parts


def match_slowly(mask, truth, threshold):
    visible = {(int(y), int(x)) for y, x in zip(*np.nonzero(truth != 128), strict=True)}
    marked = [part & visible for part in list_parts(mask)]
    marked, true = [part for part in marked if part], list_parts(truth == 255)
    n_matched = sum(len(one & other) > threshold * len(one | other) for one in marked for other in true)
    return InstanceCounts(len(true), len(marked), n_matched)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("threshold", [0.5, 0.7])
def test_counts_equal_a_double_loop_over_all_parts(seed, threshold):
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random((24, 30)) < 0.15 + 0.02 * seed, 255, 0).astype(np.uint8)
    mask = (truth == 255) ^ (rng.random(truth.shape) < 0.06)
    truth[rng.random(truth.shape) < 0.1] = 128
    assert match_instances(mask, truth, threshold) == match_slowly(mask, truth, threshold)


def draw(*rows):
    return np.array([[{"#": 255, "?": 128, ".": 0}[one] for one in row] for row in rows], dtype=np.uint8)


def test_exactly_one_half_is_not_enough():
    assert match_instances(draw("##..") == 255, draw("####")).n_matched == 0
    assert match_instances(draw("###.") == 255, draw("####")).n_matched == 1


def test_an_ignored_seam_does_not_divide_a_part_of_the_mask():
    truth = draw("????.", "?##?.", "?##?.", "????.")
    assert match_instances(np.ones((4, 5), dtype=bool), truth) == InstanceCounts(1, 1, 0)
    assert match_instances(draw("####.", "####.", "####.", "####.") == 255, truth) == InstanceCounts(1, 1, 1)


def test_given_instances_replace_connected_parts():
    truth = draw("##.##", "##.##")
    mask, divided = draw("#####", "#####") == 255, np.array([[1, 1, 1, 2, 2]] * 2)
    assert match_instances(mask, truth, instances=divided) == InstanceCounts(2, 2, 2)
    assert match_instances(truth == 255, truth, instances=np.ones((2, 5), dtype=int)) == InstanceCounts(2, 1, 0)
    with pytest.raises(BadInputError, match=r"\(2, 4\)"):
        match_instances(mask, truth, instances=divided[:, 1:])


def test_images_are_summed_before_they_are_divided():
    total = sum_instances([InstanceCounts(1, 2, 1), InstanceCounts(9, 3, 1)])
    assert total == InstanceCounts(10, 5, 2)
    assert total.recall == 0.2 and total.precision == 0.4


def test_other_shapes_and_thresholds_below_one_half_are_refused():
    with pytest.raises(BadInputError, match=r"\(3, 3\)"):
        match_instances(np.zeros((3, 3), dtype=bool), np.zeros((3, 4), dtype=bool))
    with pytest.raises(BadInputError, match=r"0\.3"):
        match_instances(np.zeros((3, 3), dtype=bool), np.zeros((3, 3), dtype=bool), 0.3)
