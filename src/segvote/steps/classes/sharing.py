"""Segments and features of one run folder, used by another without computing or storing them twice.

Files are linked, not copied, where the file system can: each folder stays whole when the other is moved or deleted.
That is safe because no file is ever changed in place; a new one takes its name.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from segvote.io.atomic import atomic_path
from segvote.run.bags import SegmentedImage
from segvote.run.run_folder import RunFolder
from segvote.run.video.frames import get_poster_path


def share_parts(source: RunFolder, target: RunFolder, bags: list[SegmentedImage]) -> None:
    """Give `target` the segments, superpixels, features and posters that `source` has of some bags."""
    for bag in bags:
        for path in _list_parts(source, bag):
            _link(path, target.path / path.relative_to(source.path))


def _list_parts(run: RunFolder, bag: SegmentedImage) -> Iterator[Path]:
    segments = run.segments_path(bag.segments_key)
    yield segments
    yield from sorted(segments.parent.glob(f"{bag.segments_key}.superpixels-*"))
    yield run.features_path(bag.features_key)
    if bag.n_frames:
        yield from sorted(segments.with_suffix(".frames").iterdir())
        yield get_poster_path(run, bag.segments_key)


def _link(source: Path, target: Path) -> None:
    if target.exists() and os.path.samefile(source, target):
        return
    with atomic_path(target, durable=False) as temporary:
        try:
            os.link(source, temporary)
        except OSError:  # another disk, or a file system without links
            shutil.copyfile(source, temporary)
