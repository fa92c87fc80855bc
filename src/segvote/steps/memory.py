"""How much memory a vote may take: the bound, what a vote is estimated to take, and where its arrays lie therefore.

The bound decides where numbers lie, never what they are: it is no part of a run's settings. It counts what the process
holds; pages of mapped files are the system's, which takes them back when somebody else needs memory.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from segvote.errors import TooLargeError
from segvote.kernels import MEMORY, Workspace
from segvote.run.settings import Settings
from segvote.steps.resources import Resources, format_size
from segvote.steps.voting.making import make_annotator
from segvote.voters import METHOD

# Python and all packages, and the blocks in which features are centred and weighed.
BASE = 250 * 10**6
# Of one thread's block of queries: candidates, their bags, those measured.
PER_THREAD = 150 * 10**6
# Bytes of a segment for its bag, bag label, prior, weights, scores, and the columns of the vote that leaves bags out.
PER_SEGMENT = 1000
# The features with what a voter of another kind makes of them.
COPIES = 4


@dataclass(frozen=True)
class Need:
    """Bytes that a vote takes.

    Attributes
    ----------
    in_memory
        With everything in memory.
    on_disk
        Of memory, when all that is large lies in files and one thread searches.
    files
        These files.
    """

    in_memory: int
    on_disk: int
    files: int


def choose_workspace(folder: Path, settings: Settings, n_segments: int, n_dims: int, resources: Resources) -> Workspace:
    """Where a vote's arrays lie: in memory if they fit and no other process needs them, else in files in `folder`.

    Parameters
    ----------
    folder
        The run folder.
    settings
        Whose voter is going to vote.
    n_segments, n_dims
        Of the features.
    resources
        The bound of memory, and what searches in the place of threads.
    """
    bound, parallel_map = resources.memory, resources.parallel_map
    need = estimate_need(settings, n_segments, n_dims)
    if parallel_map is None and (bound is None or need.in_memory <= bound):
        return MEMORY
    if bound is not None:
        _check_bound(bound, need, n_segments)
    free = shutil.disk_usage(folder).free
    if free < need.files:
        raise TooLargeError(
            f"the vote of {n_segments} segments needs {format_size(need.files)} of disk for its files; {folder} has "
            f"{format_size(free)} left. Make room there, or give more --memory"
        )
    spare = 0 if bound is None else (bound - need.on_disk) // PER_THREAD
    return Workspace(folder, parallel_map, None if bound is None else min(1 + spare, _count_cores()))


def _check_bound(bound: int, need: Need, n_segments: int) -> None:
    if bound < need.on_disk:
        other = "" if need.on_disk < need.in_memory else " use voter ekde, which keeps its arrays on disk,"
        raise TooLargeError(
            f"the vote of {n_segments} segments needs {format_size(need.on_disk)} of memory, --memory allows "
            f"{format_size(bound)}. Give more,{other} or fewer segments"
        )


def estimate_need(settings: Settings, n_segments: int, n_dims: int) -> Need:
    """What a vote takes; estimated with something to spare, and never less than what was measured.

    Parameters
    ----------
    settings
        Whose voter is going to vote; one other than the method is taken to copy the features.
    n_segments, n_dims
        Of the features.
    """
    features, rest = 4 * n_segments * n_dims, BASE + PER_SEGMENT * n_segments
    # After the vote its model is written: a byte of each number, three times for a moment.
    model = 3 * n_segments * n_dims
    if settings.voter != METHOD:
        whole = rest + model + COPIES * features
        return Need(whole, whole, features)
    large, learning = make_annotator(settings).estimate_arrays(n_segments, n_dims)
    one, all_ = (max(model, learning + PER_THREAD * n_threads) for n_threads in (1, _count_cores()))
    return Need(rest + all_ + features + large, rest + one, features + large)


def _count_cores() -> int:
    return os.cpu_count() or 1
