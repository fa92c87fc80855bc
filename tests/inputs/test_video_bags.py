"""Which sub-folders are videos is decided for the whole folder."""

import numpy as np
import pytest
from PIL import Image

from segvote.errors import UnknownNameError
from segvote.inputs.videos import split_videos
from segvote.io.images import list_images

ALIKE, UNLIKE = 1, 16  # pixels that the camera pans from one frame to the next


def write_pan(folder, step, n_frames=10):
    """Frames of a camera that pans over blocks of random grey."""
    rng = np.random.default_rng(len(folder.name))
    ground = rng.integers(0, 256, (4, 4 * n_frames + 8), dtype=np.uint8).repeat(8, axis=0).repeat(8, axis=1)
    folder.mkdir(parents=True)
    for number in range(n_frames):
        Image.fromarray(ground[:, step * number : step * number + 32]).save(folder / f"{number:04d}.png")


def list_found(folder, frames="auto"):
    return [path.relative_to(folder).as_posix() for path in split_videos(folder, list_images(folder), frames)]


@pytest.fixture
def folder(tmp_path):
    for name in ("a", "bb", "ccc"):
        write_pan(tmp_path / name, ALIKE)
    return tmp_path


def test_a_fast_pan_among_videos_is_a_video_too(folder):
    write_pan(folder / "fast", UNLIKE)
    assert list_found(folder) == ["a", "bb", "ccc", "fast"]


def test_short_clips_among_videos_are_videos_too(folder):
    write_pan(folder / "short", ALIKE, n_frames=3)
    assert list_found(folder) == ["a", "bb", "ccc", "short"]


def test_photographs_in_most_folders_stay_photographs(folder):
    for number in range(4):
        write_pan(folder / f"photographs-{'x' * number}", UNLIKE)
    found = list_found(folder)
    assert found[:3] == ["a", "bb", "ccc"] and len(found) == 3 + 40


def test_pictures_without_numbers_and_loose_ones_stay_images(folder):
    write_pan(folder / "named", UNLIKE)
    (folder / "named/0003.png").rename(folder / "named/cow.png")
    Image.new("L", (32, 32)).save(folder / "photo.png")
    found = list_found(folder)
    assert "photo.png" in found and "named/cow.png" in found and "a" in found


@pytest.mark.parametrize(("frames", "n_found"), [("video", 3), ("images", 30)])
def test_the_user_can_decide(folder, frames, n_found):
    assert len(list_found(folder, frames)) == n_found
    with pytest.raises(UnknownNameError, match="auto, images, video"):
        list_found(folder, "films")
