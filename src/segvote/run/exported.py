"""The masks of a run that were exported, by their hashes: ``exported.json``.

A tool returns the masks that were not touched in it as they were exported. The run may have gone on since, so an
import must tell them from masks that were changed there.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping

import numpy as np

from segvote.errors import DamagedFileError, UnwritableFileError
from segvote.io.tables import convert_record, read_json, write_json
from segvote.run.run_folder import RunFolder

MAX_HASHES = 50  # of an image: an older export is not looked for


def hash_mask(mask: np.ndarray) -> str:
    """Hash of a mask (h, w) bool as 16 hexadecimal digits."""
    return hashlib.sha256(repr(mask.shape).encode() + np.packbits(mask).tobytes()).hexdigest()[:16]


def read_exported(run: RunFolder) -> dict[str, list[str]]:
    """Name of an image to the hashes of its masks that were exported; empty where the file is missing or damaged."""
    with contextlib.suppress(DamagedFileError):
        if run.exported_path.is_file():
            return convert_record(read_json(run.exported_path), dict[str, list[str]], run.exported_path)
    return {}


def add_exported(run: RunFolder, hashes: Mapping[str, str]) -> None:
    """Add the masks of an export, by the names of their images."""
    known = read_exported(run)
    added = {name: [*(one for one in known.get(name, ()) if one != new), new] for name, new in hashes.items()}
    newest = {name: some[-MAX_HASHES:] for name, some in {**known, **added}.items()}
    with contextlib.suppress(UnwritableFileError):  # a run on a disk that cannot be written to is exported elsewhere
        if newest != known:
            write_json(run.exported_path, newest)
