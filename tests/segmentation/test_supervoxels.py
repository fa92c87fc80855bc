"""Supervoxels: every frame once, the past fixed, an object that moves kept whole, levels nested."""

import itertools

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.segmentation import SEGMENTERS
from segvote.segmentation.supervoxels import (
    LEAST_OVERLAP,
    N_BINS,
    N_LEVELS,
    choose_level,
    fill_histograms,
    find_regions,
    link_regions,
    measure_chi_square,
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


def test_an_image_is_a_video_of_one_frame():
    frames, _ = make_video(1)
    found = SEGMENTERS["supervoxels"](frames[0], n_segments=20)
    assert found.labels.shape == (48, 64) and 1 < found.n_segments <= 20


# against the plain formulas


def link_regions_slow(frames, starts):
    for frame, start in zip(frames, starts, strict=False):
        labels = frame.labels
        for ends in ((labels[:, 1:], labels[:, :-1]), (labels[1:], labels[:-1])):
            for a, b in zip(*(end.ravel().tolist() for end in ends), strict=True):
                if a != b:
                    yield tuple(sorted((a + start, b + start)))
    for number, (before, after) in enumerate(itertools.pairwise(frames)):
        for a, b in itertools.product(range(before.labels.max() + 1), range(after.labels.max() + 1)):
            one, other = before.labels == a, after.labels == b
            if (one & other).any() and (one & other).sum() >= LEAST_OVERLAP * min(one.sum(), other.sum()):
                yield a + starts[number], b + starts[number + 1]


def test_edges_are_neighbours_and_overlaps_in_time():
    frames = [find_regions(frame) for frame in make_video(3)[0][:, :24, :32]]
    starts = np.cumsum([0, *(len(frame.histograms) for frame in frames)])
    found = [tuple(sorted(pair)) for pair in link_regions(frames, starts).T.tolist()]
    expected = {tuple(map(int, pair)) for pair in link_regions_slow(frames, starts)}
    assert len(set(found)) == len(found) and set(found) == expected


def test_histograms_of_regions_are_sums_over_their_pixels():
    frame = find_regions(make_video(1)[0][0])
    np.testing.assert_allclose(frame.histograms.sum(axis=1), 3 * frame.sizes, rtol=1e-4)


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
    histograms = fill_histograms(colours).toarray() * sizes[:, None]
    np.testing.assert_allclose(measure_chi_square(histograms, sizes, edges), [0, 1], atol=1e-6)
