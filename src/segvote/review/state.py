"""What the page shows, as arrays that are never changed: each vote and each click makes a new `Snapshot` from the last.

Nothing here reads, writes or waits; the engine decides when, this file decides what.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from segvote.masks import measure_uncertainty as measure_doubt

__all__ = ["Snapshot", "hear", "make_snapshot", "measure_dissent", "note", "say"]

# A score may drift this share of the run's range before the page is told.
QUIET = 1e-4


@dataclass(frozen=True)
class Snapshot:
    """All images at one moment.

    Attributes
    ----------
    version, action
        Counts snapshots; number of the last action of the log that it knows.
    offsets, areas
        (n_bags + 1,) where each bag's segments begin; (n_segments,) pixels.
    scores, decisions, fixed
        (n_segments,) score, bool object, int8 what a person said.
    thresholds, tags, moved, looked
        (n_bags,) score above which segments are object; bool *with*; bool filed elsewhere; bool accepted by a person.
    doubt, disagreement, redrawn, change
        (n_bags,) in [0, 1]: how badly two levels explain the scores; how much the voters of the mask disagree (see
        `measure_dissent`), or how unlike another voter's mask is where the run's voter keeps no votes; how unlike the
        segments the mask is once redrawn along the picture's edges; share of the image that the last correction turned
        over.
    changed_at
        (n_bags,) version in which the page last had reason to draw the bag again.
    """

    version: int
    action: int
    offsets: np.ndarray
    areas: np.ndarray
    scores: np.ndarray
    decisions: np.ndarray
    fixed: np.ndarray
    thresholds: np.ndarray
    tags: np.ndarray
    moved: np.ndarray
    looked: np.ndarray
    doubt: np.ndarray
    disagreement: np.ndarray
    redrawn: np.ndarray
    change: np.ndarray
    changed_at: np.ndarray

    @property
    def n_bags(self) -> int:
        return len(self.tags)

    def get_slice(self, bag: int) -> slice:
        return slice(int(self.offsets[bag]), int(self.offsets[bag + 1]))

    def sum_per_bag(self, values: np.ndarray) -> np.ndarray:
        """(n_segments,) to (n_bags,) sums."""
        return np.add.reduceat(values, self.offsets[:-1])

    def measure_unlikeness(self, other: np.ndarray) -> np.ndarray:
        """(n_bags,) one minus the overlap of the masks with those of other decisions (n_segments,)."""
        both = self.sum_per_bag(np.where(self.decisions & other, self.areas, 0))
        either = self.sum_per_bag(np.where(self.decisions | other, self.areas, 0))
        return 1 - both / np.maximum(either, 1)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """(n_bags,) to (n_segments,): every segment gets the value of its bag."""
        return np.repeat(values, np.diff(self.offsets))


def make_snapshot(
    offsets: np.ndarray,
    areas: np.ndarray,
    tags: np.ndarray,
    scores: np.ndarray,
    decisions: np.ndarray,
    thresholds: np.ndarray,
) -> Snapshot:
    """The first snapshot: a finished run, nothing corrected."""
    n_bags = len(tags)
    nothing = np.zeros(n_bags)
    snapshot = Snapshot(
        version=1,
        action=0,
        offsets=offsets,
        areas=areas,
        scores=scores,
        decisions=decisions,
        fixed=np.full(len(scores), -1, dtype=np.int8),
        thresholds=thresholds,
        tags=tags,
        moved=nothing.astype(bool),
        looked=nothing.astype(bool),
        doubt=nothing,
        disagreement=nothing,
        redrawn=nothing,
        change=nothing,
        changed_at=np.ones(n_bags, dtype=np.int64),
    )
    return replace(snapshot, doubt=measure_doubts(snapshot))


def say(
    old: Snapshot,
    action: int,
    fixed: np.ndarray,
    tags: np.ndarray,
    moved: np.ndarray,
    looked: np.ndarray,
) -> Snapshot:
    """What a person said, before anybody has voted on it: the word stands at once."""
    decisions = np.where(fixed >= 0, fixed == 1, old.decisions)
    decisions &= old.spread(tags) | (fixed == 1)
    new = replace(old, action=action, fixed=fixed, tags=tags, moved=moved, looked=looked, decisions=decisions)
    return _mark_changes(old, new)


def hear(
    old: Snapshot,
    scores: np.ndarray,
    decisions: np.ndarray,
    thresholds: np.ndarray,
    before: np.ndarray,
    graph: sparse.csr_matrix | None = None,
) -> Snapshot:
    """The outcome of a vote.

    Parameters
    ----------
    old
        The snapshot whose corrections were voted on.
    scores, decisions, thresholds
        As in `Snapshot`.
    before
        (n_segments,) bool decisions that the page showed before the correction; change is measured from there.
    graph
        (n_segments, n_segments) who hears whom, of a voter that keeps its votes: disagreement is measured anew.
    """
    turned = old.sum_per_bag(np.where(before != decisions, old.areas, 0)) / old.sum_per_bag(old.areas)
    new = replace(old, scores=scores, decisions=decisions, thresholds=thresholds, change=turned)
    if graph is not None:
        new = replace(new, disagreement=measure_dissent(new, graph))
    return _mark_changes(old, replace(new, doubt=measure_doubts(new)))


def _mark_changes(old: Snapshot, new: Snapshot) -> Snapshot:
    """Give the new snapshot its number, and that number to every bag that looks different in it."""
    spread = float(np.ptp(new.scores)) or 1.0
    segments = (
        (np.abs(old.scores - new.scores) > QUIET * spread) | (old.decisions != new.decisions) | (old.fixed != new.fixed)
    )
    bags = new.sum_per_bag(segments.astype(np.int64)) > 0
    for name in ("tags", "moved", "looked", "change", "disagreement", "redrawn", "thresholds"):
        bags |= getattr(old, name) != getattr(new, name)
    version = old.version + 1
    return replace(new, version=version, changed_at=np.where(bags, version, old.changed_at))


def note(old: Snapshot, disagreement: np.ndarray | None = None, redrawn: np.ndarray | None = None) -> Snapshot:
    """Take note of signs of wrong masks, (n_bags,) each; None: as it was. *Without* bags have no mask to be wrong."""
    new = replace(
        old,
        disagreement=old.disagreement if disagreement is None else np.where(old.tags, disagreement, 0.0),
        redrawn=old.redrawn if redrawn is None else np.where(old.tags, redrawn, 0.0),
    )
    return _mark_changes(old, new)


def measure_dissent(snapshot: Snapshot, graph: sparse.csr_matrix) -> np.ndarray:
    """(n_bags,) how much of the votes for a mask comes from segments that are not object themselves.

    Averaged over the area of the mask. What a person said is beyond dispute: it neither counts nor is counted against.

    Parameters
    ----------
    snapshot
        Whose masks.
    graph
        (n_segments, n_segments) sparse, rows sum to one: how much each segment hears each other.
    """
    strangers = 1 - graph @ snapshot.decisions.astype(np.float64)
    disputed = np.where(snapshot.decisions & (snapshot.fixed < 0), strangers * snapshot.areas, 0)
    covered = snapshot.sum_per_bag(np.where(snapshot.decisions, snapshot.areas, 0))
    return np.where(snapshot.tags, snapshot.sum_per_bag(disputed) / np.maximum(covered, 1), 0.0)


def measure_doubts(snapshot: Snapshot) -> np.ndarray:
    """(n_bags,) doubt of *with* bags; 0 for *without* bags, which have no mask to be wrong."""
    doubts = np.zeros(snapshot.n_bags)
    for bag in np.flatnonzero(snapshot.tags):
        part = snapshot.get_slice(int(bag))
        doubts[bag] = measure_doubt(snapshot.scores[part], snapshot.decisions[part], snapshot.areas[part])
    return doubts
