"""The k-NN cache of a run folder: the search is most of the work of a vote, and a review or another voter repeats it.

Distances are stored exactly, so that a vote from the file equals that of `annotate`. A file of other segments, features
or packages, or a damaged one, is not used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segvote import __version__
from segvote.io.arrays import read_if_whole, write_arrays
from segvote.kernels import Neighbours
from segvote.method.table import SegmentTable
from segvote.run.bags import SegmentedImage
from segvote.run.record import list_versions
from segvote.run.run_folder import RunFolder, make_key
from segvote.run.settings import Settings
from segvote.steps.vote import count_neighbours
from segvote.voters import keeps_lengths

# Raised when the search changes.
NEIGHBOURS_VERSION = 2


def fetch_neighbours(
    run: RunFolder, bags: Sequence[SegmentedImage], table: SegmentTable, settings: Settings
) -> Neighbours | None:
    """The neighbours that a voter asks for, from the cache or searched; None for a voter that asks for none."""
    n_neighbors = count_neighbours(settings)
    if not n_neighbors:
        return None
    known = _read(run, _encode_name(bags, settings), len(table))
    return Neighbours.search(table.X, n_neighbors, table.bags) if known is None else known


def keep_neighbours(run: RunFolder, bags: Sequence[SegmentedImage], settings: Settings, found: Neighbours) -> None:
    """Store neighbours; those stored before are replaced."""
    # Numbers of segments fit into four bytes. Files hold finite numbers only; an index of -1 marks no neighbour.
    indices, squared = found.indices.astype(np.int32), np.where(found.indices < 0, 0.0, found.squared)
    name, recall = _encode_name(bags, settings), np.array([found.recall])
    write_arrays(run.neighbours_path, name=name, recall=recall, squared=squared, indices=indices)


def _encode_name(bags: Sequence[SegmentedImage], settings: Settings) -> np.ndarray:
    """Bytes of the key of all that decides the neighbours: segments, features, versions; not the bag labels."""
    key = make_key(
        neighbours=NEIGHBOURS_VERSION,
        version=__version__,
        versions=list_versions(),
        n_neighbors=count_neighbours(settings),
        has_lengths=keeps_lengths(settings.voter),
        features=[settings.features, settings.feature_options, [bag.features_key for bag in bags]],
    )
    return np.frombuffer(key.encode(), dtype=np.uint8)


def _read(run: RunFolder, name: np.ndarray, n_segments: int) -> Neighbours | None:
    arrays = read_if_whole(run.neighbours_path) or {}
    squared, indices, recall = (arrays.get(key, np.empty(0)) for key in ("squared", "indices", "recall"))
    if not np.array_equal(arrays.get("name", ()), name) or indices.dtype != np.int32 or recall.shape != (1,):
        return None
    if indices.ndim != 2 or squared.shape != indices.shape or len(indices) != n_segments:
        return None
    # Numbers beyond the last segment would be read beyond the end of memory.
    if indices.min(initial=0) < -1 or indices.max(initial=0) >= n_segments or not np.isfinite(squared).all():
        return None
    return Neighbours(np.where(indices < 0, np.inf, squared), indices, float(recall[0]))
