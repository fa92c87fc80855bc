"""Who hears whom, kept in the run folder: nearly all the work of a vote, which a review then need not do again.

The votes are stored to the last bit, so that a run voted on from the file says what `annotate` said. A file of other
segments, other settings or other packages, or a damaged one, is as good as none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from segvote import __version__
from segvote.io.arrays import read_if_whole, write_arrays
from segvote.io.run_folder import RunFolder, make_key
from segvote.pipeline.describing import Described
from segvote.pipeline.record import list_versions
from segvote.pipeline.settings import Settings

__all__ = ["KnownGraph", "keep_graph", "name_graph", "read_graph"]

# Raised when the same segments are heard otherwise.
GRAPH_VERSION = 1

# A graph of votes and the part of the true neighbours that is in it.
KnownGraph = tuple[sparse.csr_matrix, float]


def name_graph(settings: Settings, bags: Sequence[Described]) -> str:
    """Name of all that decides who hears whom: segments, features, voter, and what searched. Tags do not."""
    return make_key(
        graph=GRAPH_VERSION,
        version=__version__,
        versions=list_versions(),
        voter=[settings.voter, settings.voter_options],
        features=[settings.features, settings.feature_options, [bag.features_key for bag in bags]],
    )


def keep_graph(run: RunFolder, name: str, voter: Any) -> None:
    """Store the graph of a fitted voter under a name; nothing where the voter keeps no votes."""
    graph = getattr(voter, "graph_", None)
    if graph is not None:
        write_arrays(
            _find_path(run),
            name=_encode(name),
            recall=np.array([voter.recall_]),
            data=graph.data,
            indices=graph.indices,
            indptr=graph.indptr,
        )


def read_graph(run: RunFolder, name: str, n_segments: int) -> KnownGraph | None:
    """The graph (n_segments, n_segments) stored under a name; None where there is none, or it is not whole."""
    if not _is_named(run, name):
        return None
    arrays = read_if_whole(_find_path(run))
    if arrays is None or not _is_graph(arrays, n_segments):
        return None
    parts = arrays["data"], arrays["indices"], arrays["indptr"]
    return sparse.csr_matrix(parts, shape=(n_segments, n_segments)), float(arrays["recall"][0])


def _find_path(run: RunFolder) -> Path:
    return run.votes_path.with_name("graph.npz")


def _encode(name: str) -> np.ndarray:
    return np.frombuffer(name.encode(), dtype=np.uint8)


def _is_named(run: RunFolder, name: str) -> bool:
    """Looks at the name alone: the rest may be large."""
    found = read_if_whole(_find_path(run), ("name",))
    return found is not None and np.array_equal(found.get("name", ()), _encode(name))


def _is_graph(arrays: dict[str, np.ndarray], n_segments: int) -> bool:
    """Whether arrays are the parts of a graph: wrong numbers of segments would be read beyond the end of memory."""
    if not {"data", "indices", "indptr", "recall"} <= arrays.keys():
        return False
    data, indices, starts = arrays["data"], arrays["indices"], arrays["indptr"]
    kinds = data.dtype == np.float64 and indices.dtype.kind == starts.dtype.kind == "i" and len(arrays["recall"]) == 1
    shapes = data.ndim == 1 and data.shape == indices.shape and starts.shape == (n_segments + 1,)
    if not (kinds and shapes):
        return False
    ordered = starts[0] == 0 and starts[-1] == len(data) and (np.diff(starts) >= 0).all()
    inside = indices.min(initial=0) >= 0 and indices.max(initial=0) < n_segments
    return bool(ordered and inside and np.isfinite(data).all())
