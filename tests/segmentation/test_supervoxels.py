"""Supervoxels: every frame once, the past fixed, an object that moves kept whole, levels nested."""

import itertools
import sys

import numpy as np
import pytest

pytest.importorskip("numba")

from segvote.errors import BadInputError, MissingPartError
from segvote.segmentation.graph_merging import merge_nodes
from segvote.segmentation.supervoxels import (
    N_BINS,
    N_LEVELS,
    choose_level,
    fill_histograms,
    link_pixels,
    measure_chi_square,
    segment_key_frames,
    stream_supervoxels,
)


def make_video(n_frames=14, height=48, width=64, speed=2):
    """A red square that walks to the right over a textured ground; returns frames and its masks."""
    rng = np.random.default_rng(0)
    ground = rng.integers(60, 90, (height // 8, width // 8, 3)).repeat(8, axis=0).repeat(8, axis=1)
    frames = np.repeat(ground[None].astype(np.uint8), n_frames, axis=0)
    masks = np.zeros(frames.shape[:3], bool)
    square = rng.integers(0, 6, (16, 16, 3)) + [210, 20, 20]
    for t in range(n_frames):
        masks[t, 16:32, 4 + speed * t : 20 + speed * t] = True
        frames[t, 16:32, 4 + speed * t : 20 + speed * t] = square
    return frames, masks


def segment(frames, window=8):
    return np.stack([levels for _, levels in stream_supervoxels(frames, window)])


@pytest.mark.parametrize("window", [1, 3, 8, 20])
def test_supervoxels_follow_an_object_that_moves(window):
    frames, masks = make_video()
    levels = segment(frames, window)
    assert levels.shape == (14, N_LEVELS, 48, 64) and levels.dtype == np.int32
    labels = levels[:, choose_level(levels[0], 20)]
    inside, total = np.bincount(labels[masks], minlength=labels.max() + 1), np.bincount(labels.ravel())
    of_object = np.flatnonzero(inside > total / 2)
    assert len(of_object) <= 3  # the same few from the first frame to the last
    found = np.isin(labels, of_object)
    assert (found & masks).sum() > 0.95 * (found | masks).sum()


def test_levels_are_nested_and_numbers_have_no_gaps():
    levels = np.moveaxis(segment(make_video()[0], window=3), 1, 0)
    counts = [int(level.max()) + 1 for level in levels]
    assert counts == sorted(counts, reverse=True) and counts[-1] < counts[0]
    for level in levels:
        np.testing.assert_array_equal(np.unique(level), np.arange(level.max() + 1))
    for fine, coarse in itertools.pairwise(levels):
        assert len(np.unique(np.stack([fine.ravel(), coarse.ravel()]), axis=1).T) == fine.max() + 1


def test_the_chosen_level_has_at_most_the_number_asked_for():
    levels = np.stack([np.arange(12).reshape(3, 4) // size for size in (1, 2, 4)])
    assert [choose_level(levels, n) for n in (20, 12, 6, 5, 1)] == [0, 0, 1, 2, 2]


def test_key_frames_have_the_labels_of_the_chosen_level():
    frames, _ = make_video()
    levels = segment(frames)
    images, labels = segment_key_frames(((frame, number in (0, 5, 13)) for number, frame in enumerate(frames)), 20)
    np.testing.assert_array_equal(images, frames[[0, 5, 13]])
    chosen = levels[[0, 5, 13], choose_level(levels[0], 20)]
    np.testing.assert_array_equal(labels, np.unique(chosen, return_inverse=True)[1].reshape(labels.shape))


def test_later_frames_do_not_change_the_past():
    frames, _ = make_video()
    np.testing.assert_array_equal(segment(frames, window=4)[:8], segment(frames[:8], window=4))


def test_frames_are_read_once_and_no_more_than_a_window_ahead():
    frames, _ = make_video(20)
    copy, n_read = frames.copy(), 0

    def read():
        nonlocal n_read
        for frame in frames:
            n_read += 1
            yield frame

    for index, (frame, _) in enumerate(stream_supervoxels(read(), window=4)):
        assert n_read <= index + 4 and frame is not None
    assert n_read == 20
    np.testing.assert_array_equal(frames, copy)


@pytest.mark.parametrize("shape", [(1, 40, 40), (3, 5, 4), (2, 1, 1), (5, 33, 200)])
def test_odd_shapes_are_segmented(shape):
    frames = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    assert segment(frames, window=2).shape == (shape[0], N_LEVELS, *shape[1:])


def test_frames_of_two_sizes_and_empty_windows_are_refused():
    with pytest.raises(BadInputError, match="one size"):
        segment([np.zeros((40, 40, 3), np.uint8), np.zeros((40, 41, 3), np.uint8)])
    with pytest.raises(BadInputError, match="window"):
        segment(make_video(2)[0], window=0)


def test_without_numba_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(MissingPartError, match=r"segvote\[video\]"):
        segment(make_video(2)[0])


# against the plain formulas


def link_pixels_slow(shape, flows):
    numbers = np.arange(np.prod(shape)).reshape(shape)
    for t, y, x in itertools.product(*map(range, shape)):
        ends = [(t, y + dy, x + dx) for dy, dx in [(0, 1), (1, 0), (1, 1), (1, -1)]]
        if t:
            u, v = flows[t - 1][y, x]
            ends.append((t - 1, round(float(y + v)), round(float(x + u))))
        for s, v, u in ends:
            if 0 <= v < shape[1] and 0 <= u < shape[2]:
                yield tuple(sorted((int(numbers[t, y, x]), int(numbers[s, v, u]))))


def test_edges_are_those_of_the_definition():
    flows = list(np.random.default_rng(0).normal(0, 1.5, (2, 6, 7, 2)).astype(np.float32))
    found = [tuple(sorted(pair)) for pair in link_pixels((3, 6, 7), flows).T.tolist()]
    assert sorted(found) == sorted(link_pixels_slow((3, 6, 7), flows))


def merge_slow(edges, weights, sizes, frozen, scale, min_size):
    """Sets of nodes, merged edge by edge."""
    groups = {node: {node} for node in range(len(frozen))}
    numbers, inside = dict(enumerate(frozen)), dict.fromkeys(groups, 0.0)
    where = {node: node for node in groups}

    def unite(a, b, weight=0.0):
        for node in groups[b]:
            where[node] = a
        groups[a] |= groups.pop(b)
        numbers[a], inside[a] = max(numbers[a], numbers[b]), weight

    def measure(group):
        return sum(sizes[node] for node in groups[group])

    for number in np.unique(frozen[frozen >= 0]):
        same = np.flatnonzero(frozen == number)
        for node in same[1:]:
            unite(where[same[0]], node)
    for is_last in (False, True):
        for (first, second), weight in zip(edges.T, weights, strict=True):
            a, b = where[first], where[second]
            if a == b or min(numbers[a], numbers[b]) >= 0:
                continue
            is_alike = all(weight <= inside[c] + scale / measure(c) for c in (a, b))
            if min(measure(a), measure(b)) < min_size if is_last else is_alike:
                unite(a, b, weight)
    return np.array([where[node] for node in range(len(frozen))])


def as_partition(labels):
    return {frozenset(np.flatnonzero(labels == value).tolist()) for value in np.unique(labels)}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("scale", "min_size"), [(0.0, 1), (20.0, 1), (20.0, 9), (90.0, 5)])
@pytest.mark.parametrize("is_frozen", [False, True])
def test_merging_equals_the_plain_loop(seed, scale, min_size, is_frozen):
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, 60, (2, 200)).astype(np.int32)
    weights, sizes = np.sort(rng.random(200) * 30), rng.integers(1, 6, 60).astype(float)
    frozen = rng.integers(-6, 5, 60).clip(-1).astype(np.int32) if is_frozen else np.full(60, -1, np.int32)
    found = merge_nodes(edges, weights, sizes.copy(), frozen.copy(), scale, min_size)
    assert as_partition(found) == as_partition(merge_slow(edges, weights, sizes, frozen, scale, min_size))


def test_histograms_count_each_pixel_once_per_channel():
    lab = np.random.default_rng(0).uniform([-5, -90, -90], [110, 90, 90], (300, 3)).astype(np.float32)
    histograms = fill_histograms(lab).toarray().reshape(300, 3, N_BINS)
    np.testing.assert_allclose(histograms.sum(axis=2), 1, rtol=1e-5)
    black = fill_histograms(np.zeros((1, 3), np.float32)).toarray()[0]
    assert black[0] == 1 and black[N_BINS + 9] == pytest.approx(0.5) and black[N_BINS + 10] == pytest.approx(0.5)


def test_chi_square_is_zero_for_equal_colours_one_for_disjoint():
    colours = np.array([[0, -60, -60], [0, -60, -60], [100, 60, 60]], np.float32)
    edges = np.array([[0, 0], [1, 2]])
    sizes = np.array([5.0, 10.0, 1.0])
    histograms = fill_histograms(colours).multiply(sizes[:, None]).tocsr()
    np.testing.assert_allclose(measure_chi_square(histograms, sizes, edges), [0, 1])
