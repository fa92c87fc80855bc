"""Clips cut by SLIC: what a stream of supervoxels gives, for clips that fit into memory."""

import numpy as np
import pytest

from segvote.errors import TooLargeError
from segvote.segmentation import clips
from segvote.segmentation.clips import segment_slic_clip, stream_slic_clip


@pytest.fixture
def clip():
    """A square that moves two pixels to the right in each frame."""
    frames = np.full((6, 40, 60, 3), 60, np.uint8)
    for index, frame in enumerate(frames):
        frame[10:26, 8 + 2 * index : 24 + 2 * index] = (220, 90, 30)
    return frames


def test_frames_come_in_order_with_the_numbers_of_the_whole_clip(clip):
    found = list(stream_slic_clip(iter(clip), 12))
    assert [frame.index for frame in found] == list(range(6))
    whole = segment_slic_clip(clip, clips._count_for_clip(6, (40, 60), 12))
    assert np.array_equal(np.stack([frame.labels for frame in found]), whole)


def test_the_flow_points_to_where_the_square_was(clip):
    found = list(stream_slic_clip(iter(clip), 12))
    assert not found[0].flow.any()
    inside = found[3].flow[12:24, 18:26]
    assert np.median(inside[..., 0]) == pytest.approx(-2, abs=0.7)


def test_a_long_clip_is_refused_with_what_to_do(clip, monkeypatch):
    monkeypatch.setattr(clips, "LONGEST_CLIP", 5)
    with pytest.raises(TooLargeError, match="--every"):
        list(stream_slic_clip(iter(clip), 12))
