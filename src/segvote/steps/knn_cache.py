"""The k-NN cache of a run folder: the search is most of the work of a vote, and other settings, other voters with the
same neighbours and a review use it again.

Distances are stored exactly, so that a vote from the file equals that of `annotate`. A file of other segments, features
or packages, or a damaged one, is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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
    run: RunFolder, bags: Sequence[SegmentedImage], table: SegmentTable, settings: Settings, keep: bool = True
) -> Neighbours | None:
    """The neighbours that a voter asks for, from the run folder; searched, and kept, where they are not there.

    None for a voter that asks for none.
    """
    n_neighbors = count_neighbours(settings)
    if not n_neighbors:
        return None
    name = name_neighbours(settings, bags, n_neighbors)
    known = read_neighbours(run, name, len(table))
    if known is not None:
        return known
    found = Neighbours.search(table.X, n_neighbors, table.bags)
    if keep:
        _keep(run, name, found)
    return found


def keep_neighbours(run: RunFolder, bags: Sequence[SegmentedImage], settings: Settings, found: Neighbours) -> None:
    """Store neighbours that were fetched without being kept; those kept before are replaced."""
    _keep(run, name_neighbours(settings, bags, count_neighbours(settings)), found)


def name_neighbours(settings: Settings, bags: Sequence[SegmentedImage], n_neighbors: int) -> str:
    """Key of all that decides the neighbours: segments, features, versions; not the bag labels."""
    return make_key(
        neighbours=NEIGHBOURS_VERSION,
        version=__version__,
        versions=list_versions(),
        n_neighbors=n_neighbors,
        has_lengths=keeps_lengths(settings.voter),
        features=[settings.features, settings.feature_options, [bag.features_key for bag in bags]],
    )


def read_neighbours(run: RunFolder, name: str, n_segments: int) -> Neighbours | None:
    """The neighbours of so many segments stored under a name; None where there are none, or they are not whole."""
    arrays = read_if_whole(_find_path(run))
    if arrays is None or not np.array_equal(arrays.get("name", ()), _encode(name)):
        return None
    if not _are_neighbours(arrays, n_segments):
        return None
    squared, indices = arrays["squared"], arrays["indices"]
    squared[indices < 0] = np.inf
    return Neighbours(squared, indices, float(arrays["recall"][0]))


def _keep(run: RunFolder, name: str, found: Neighbours) -> None:
    # Numbers of segments fit into four bytes, as in the graph made of them.
    indices, squared = found.indices.astype(np.int32), found.squared
    if (indices < 0).any():
        # Files hold finite numbers only; a missing neighbour is marked in the index.
        squared = np.where(indices < 0, 0.0, squared)
    recall = np.array([found.recall])
    write_arrays(_find_path(run), name=_encode(name), recall=recall, squared=squared, indices=indices)


def _find_path(run: RunFolder) -> Path:
    return run.votes_path.with_name("neighbours.npz")


def _encode(name: str) -> np.ndarray:
    return np.frombuffer(name.encode(), dtype=np.uint8)


def _are_neighbours(arrays: dict[str, np.ndarray], n_segments: int) -> bool:
    """Whether arrays are of neighbours: wrong numbers of segments would be read beyond the end of memory."""
    if not {"squared", "indices", "recall"} <= arrays.keys():
        return False
    squared, indices = arrays["squared"], arrays["indices"]
    kinds = squared.dtype == np.float64 and indices.dtype == np.int32 and arrays["recall"].shape == (1,)
    if not (kinds and squared.ndim == 2 and squared.shape == indices.shape and len(squared) == n_segments):
        return False
    inside = indices.min(initial=0) >= -1 and indices.max(initial=0) < n_segments
    return bool(inside and np.isfinite(squared).all())
