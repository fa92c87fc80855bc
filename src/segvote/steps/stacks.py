"""Masks of the pages of a TIFF stack, back in the stack's shape: one file with a page for each page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from segvote.io.atomic import atomic_path
from segvote.io.masks import read_mask
from segvote.io.picture_formats import split_name
from segvote.run.record import BagRecord
from segvote.run.run_folder import RunFolder


def write_stacks(run: RunFolder, records: Sequence[BagRecord]) -> list[Path]:
    """Write ``stacks/NAME.tif``, (n_pages, h, w) uint8, 255 is object; those of stacks that are gone are deleted.

    Parameters
    ----------
    run
        A run folder whose masks are written.
    records
        All its bags. A page that could not be read has an empty mask.
    """
    stacks: dict[str, dict[int, BagRecord]] = {}
    for record in records:
        name, view = split_name(Path(record.name))
        if view.page.isdecimal() and not record.n_frames:
            stacks.setdefault(name.as_posix(), {})[int(view.page)] = record
    written = [_write_stack(run, name, pages) for name, pages in stacks.items()]
    for path in (run.path / "stacks").rglob("*.tif*"):
        if path not in written:
            path.unlink()
    return written


def _write_stack(run: RunFolder, name: str, pages: dict[int, BagRecord]) -> Path:
    import tifffile  # slow to import, and only stacks need it

    target = run.path / "stacks" / PurePosixPath(name)
    with atomic_path(target) as temporary, tifffile.TiffWriter(temporary) as file:
        shape = read_mask(run.mask_path(next(iter(pages.values())).stem)).shape
        for number in range(max(pages) + 1):
            mask = read_mask(run.mask_path(pages[number].stem)) if number in pages else np.zeros(shape, np.uint8)
            file.write(mask, photometric="minisblack", compression="zlib", contiguous=False, metadata=None)
    return target
