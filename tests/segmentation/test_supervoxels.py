"""Supervoxels: every frame once, the past fixed, an object that moves kept whole."""

import sys

import numpy as np
import pytest

pytest.importorskip("numba")

from segvote.errors import BadInputError, MissingPartError
from segvote.segmentation.supervoxels import stream_supervoxels


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


def segment(frames, **options):
    return np.stack([frame.labels for frame in stream_supervoxels(frames, **{"n_in_frame": 20, **options})])


@pytest.mark.parametrize("window", [1, 3, 8, 20])
def test_supervoxels_follow_an_object_that_moves(window):
    frames, masks = make_video()
    labels = segment(frames, window=window)
    assert labels.shape == masks.shape and labels.dtype == np.int32
    inside, total = np.bincount(labels[masks], minlength=labels.max() + 1), np.bincount(labels.ravel())
    of_object = np.flatnonzero(inside > total / 2)
    assert len(of_object) <= 3  # the same few from the first frame to the last
    found = np.isin(labels, of_object)
    assert (found & masks).sum() > 0.95 * (found | masks).sum()


def test_numbers_have_no_gaps():
    labels = segment(make_video()[0], window=3)
    np.testing.assert_array_equal(np.unique(labels), np.arange(labels.max() + 1))


def test_later_frames_do_not_change_the_past():
    frames, _ = make_video()
    np.testing.assert_array_equal(segment(frames, window=4)[:8], segment(frames[:8], window=4))


def test_frames_are_read_once_and_no_more_than_a_window_ahead():
    frames, _ = make_video(20)
    n_read = 0

    def read():
        nonlocal n_read
        for frame in frames:
            n_read += 1
            yield frame

    for result in stream_supervoxels(read(), 20, window=4):
        assert n_read <= result.index + 4
    assert n_read == 20


def test_the_first_window_has_the_number_asked_for():
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 256, (4, 12, 16, 3)).repeat(4, axis=1).repeat(4, axis=2).astype(np.uint8)
    labels = segment(frames, n_in_frame=30, window=4)
    assert np.mean([len(np.unique(frame)) for frame in labels]) <= 30


def test_the_answer_repeats_and_the_frames_stay_as_they_are():
    frames, _ = make_video()
    copy = frames.copy()
    np.testing.assert_array_equal(segment(frames), segment(frames))
    np.testing.assert_array_equal(frames, copy)


@pytest.mark.parametrize("shape", [(1, 40, 40), (3, 5, 4), (2, 1, 1), (5, 33, 200)])
def test_odd_shapes_are_segmented(shape):
    frames = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    assert segment(frames, window=2).shape == shape


@pytest.mark.parametrize("options", [{"n_in_frame": 0}, {"window": 0}, {"window": 62}])
def test_senseless_options_are_refused(options):
    with pytest.raises(BadInputError):
        segment(make_video(2)[0], **options)


def test_frames_of_two_sizes_are_refused():
    with pytest.raises(BadInputError, match="one size"):
        segment([np.zeros((40, 40, 3), np.uint8), np.zeros((40, 41, 3), np.uint8)])


def test_without_numba_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(MissingPartError, match=r"segvote\[video\]"):
        segment(make_video(2)[0])
