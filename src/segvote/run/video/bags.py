"""Which files and folders below *with* and *without* are videos.

A film file is a video by its extension. A sub-folder is a video when it holds nothing but numbered pictures of one size
in which each looks like the next (`segvote.io.video.reading.is_frame_folder`). When most sub-folders of numbered
pictures are videos, all of them are: a camera that pans fast makes no photographs. `frames="video"` takes every
sub-folder with pictures for a video, `frames="images"` none.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from segvote.errors import BadInputError
from segvote.io.video.reading import is_frame_folder, is_numbered_folder, is_video_file, list_frames

FRAMES = ("auto", "images", "video")


def is_video(path: Path) -> bool:
    """Whether a bag's path is that of a video: a folder of frames or a film file."""
    return path.is_dir() or is_video_file(path)


def split_videos(folder: Path, images: Sequence[Path], frames: str = "auto") -> list[Path]:
    """Images and videos, sorted by their path below *with* or *without*, from all pictures there and the film files.

    The pictures of each folder of frames are replaced by the folder.
    """
    if frames not in FRAMES:
        raise BadInputError(f"frames must be one of {', '.join(FRAMES)}; got {frames!r}")
    folders = _find_frame_folders(folder, images, frames)
    rest = [path for path in images if path.parent not in folders]
    return sorted([*rest, *folders, *find_videos(folder)], key=lambda path: path.relative_to(folder).as_posix())


def _find_frame_folders(folder: Path, images: Sequence[Path], frames: str) -> set[Path]:
    """Sub-folders that are videos; the folder itself never is: its pictures are bags."""
    candidates = {path.parent for path in images} - {folder}
    if frames == "images":
        return set()
    if frames == "video":
        return {one for one in candidates if list_frames(one)}
    videos = {one for one in candidates if is_frame_folder(one)}
    numbered = {one for one in candidates if is_numbered_folder(one)} if videos else set()
    return numbered if 2 * len(videos) > len(numbered) else videos


def find_videos(folder: Path) -> list[Path]:
    """Film files below a folder, hidden ones left out, sorted."""
    found = []
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(parent, name) for name in sorted(files) if not name.startswith(".") and is_video_file(name)]
    return found
