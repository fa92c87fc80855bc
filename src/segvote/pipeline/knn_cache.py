"""The k-NN cache: neighbours of a run's segments in its folder, so that a later vote searches none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from segvote import __version__
from segvote.inputs.bags import Bag
from segvote.io.arrays import read_if_whole, write_arrays
from segvote.method.table import SegmentTable
from segvote.numerics import Neighbours
from segvote.numerics.threads import call_both
from segvote.pipeline.vote import count_neighbours, search_table
from segvote.run.record import list_versions
from segvote.run.run_folder import RunFolder, make_key
from segvote.settings import Settings
from segvote.voters import METHOD, keeps_lengths

# Raised when the search of neighbours changes: those in run folders are then not used.
NEIGHBOURS_VERSION = 4


def fetch_neighbours(run: RunFolder, bags: Sequence[Bag], table: SegmentTable, settings: Settings) -> Neighbours | None:
    """The neighbours that a voter asks for, from the cache or searched; None for a voter that asks for none.

    The search is most of the work of a vote. Distances are stored exactly: a vote from the cache has the same bits.
    """
    n_neighbors = count_neighbours(settings)
    if not n_neighbors:
        return None
    known = _read(run, _encode_name(bags, settings), len(table))
    if known is not None:
        return known
    if settings.voter != METHOD:
        return search_table(table, n_neighbors)
    return call_both(partial(search_table, table, n_neighbors), table.prepare, table.X.size)[0]


def keep_neighbours(run: RunFolder, bags: Sequence[Bag], settings: Settings, neighbours: Neighbours) -> None:
    """Store neighbours; those stored before are replaced."""
    # Distances are computed in four bytes, and stored so. Files hold finite numbers only.
    squared = np.where(neighbours.indices < 0, 0.0, neighbours.squared).astype(np.float32)
    indices = _pack_indices(neighbours.indices, neighbours.n_voters)
    name, recall = _encode_name(bags, settings), np.array([neighbours.recall])
    write_arrays(run.neighbours_path, name=name, recall=recall, squared=squared, indices=indices)


def _pack_indices(indices: np.ndarray, n_segments: int) -> np.ndarray:
    """Indices (n, k), -1 for none, as (n, k, n_bytes) uint8 from the least byte on, all bits set for none."""
    n_bytes = (n_segments.bit_length() + 7) // 8
    return np.ascontiguousarray(indices, "<i8")[..., None].view(np.uint8)[..., :n_bytes]


def _unpack_indices(packed: np.ndarray) -> np.ndarray:
    """(n, k) int32 indices, -1 for none."""
    numbers = np.zeros((*packed.shape[:2], 8), np.uint8)
    numbers[..., : packed.shape[2]] = packed
    indices = numbers.view("<i8")[..., 0]
    return np.where(indices < 256 ** packed.shape[2] - 1, indices, -1).astype(np.int32)


def _encode_name(bags: Sequence[Bag], settings: Settings) -> np.ndarray:
    """Bytes of the key of the neighbours, by segments, features and versions; not by the bag labels."""
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
    if not np.array_equal(arrays.get("name", ()), name) or indices.dtype != np.uint8 or recall.shape != (1,):
        return None
    if indices.ndim != 3 or squared.shape != indices.shape[:2] or len(indices) != n_segments or indices.shape[2] > 4:
        return None
    indices = _unpack_indices(indices)
    # Compiled code reads rows of these numbers without a check.
    if indices.max(initial=0) >= n_segments or not np.isfinite(squared).all():
        return None
    return Neighbours(np.where(indices < 0, np.inf, squared.astype(np.float64)), indices, n_segments, float(recall[0]))
