"""Which files and folders are videos."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from segvote.io.images import list_images
from segvote.io.video.reading import VIDEO_EXTENSIONS, is_frame_folder, is_numbered_folder, list_frames
from segvote.registry import check_known

FRAMES = ("auto", "images", "video")


def is_video(path: Path) -> bool:
    """Whether the path of a bag is a folder of frames or a film file."""
    return path.is_dir() or path.suffix.lower() in VIDEO_EXTENSIONS


def split_videos(folder: Path, images: Sequence[Path], frames: str = "auto") -> list[Path]:
    """Images and videos, sorted by their path below *with* or *without*, from all pictures there and the film files.

    A folder of frames replaces its pictures: a sub-folder of numbered pictures of one size, each similar to the next.
    When most sub-folders of numbered pictures are videos, all of them are: a camera may pan fast. With
    ``frames="video"`` every sub-folder with pictures is a video, with ``frames="images"`` none.
    """
    check_known(frames, FRAMES, "frames")
    folders = _find_frame_folders(folder, images, frames)
    rest = [path for path in images if path.parent not in folders]
    return sorted(
        [*rest, *folders, *list_images(folder, VIDEO_EXTENSIONS)], key=lambda path: path.relative_to(folder).as_posix()
    )


def _find_frame_folders(folder: Path, images: Sequence[Path], frames: str) -> set[Path]:
    """Sub-folders that are videos; pictures directly in the folder are bags."""
    candidates = {path.parent for path in images} - {folder}
    if frames == "images":
        return set()
    if frames == "video":
        return {one for one in candidates if list_frames(one)}
    numbered = {one for one in candidates if is_numbered_folder(one)}
    videos = {one for one in numbered if is_frame_folder(one)}
    return numbered if 2 * len(videos) > len(numbered) else videos
