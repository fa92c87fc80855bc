"""What the page shows, as arrays that are never changed: each vote and each click makes a new `Snapshot` from the last.

Nothing here reads, writes or waits; the engine decides when, this file decides what.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

import numpy as np

from segvote.refine import measure_doubt, scale_heat

__all__ = ["Snapshot", "disagree", "encode_update", "hear", "make_snapshot", "rank_images", "say"]

MAGIC = 0x31305653  # "SV01", little endian
# A score may drift this share of the run's range before the page is told.
QUIET = 1e-4
# Of what a person's look is expected to help with, and how much each counts. The shares were set on street photographs:
# a mask that hangs on its threshold is the best sign of a wrong one, another voter's opinion the weakest.
PRIORITY = {"unsteady": 0.4, "close": 0.25, "doubt": 0.2, "change": 0.1, "disagreement": 0.05}
# The threshold is moved to these shares of its height above the lowest score of a bag to see how much of a mask hangs
# on it.
NUDGES = (0.7, 1.5)
# Scores this near to the threshold, in shares of the run's range, could as well be on its other side.
NEARNESS = 0.02
# An image that was corrected but not accepted comes later: the first correction helps most.
CORRECTED_DISCOUNT = 1.6
SELECTED, LOOKED, IS_WITH, MOVED = 4, 1, 2, 4


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
    doubt, disagreement, change
        (n_bags,) in [0, 1]: how badly two levels explain the scores; how unlike another voter's mask is; share of the
        image that the last correction turned over.
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
    old: Snapshot, scores: np.ndarray, decisions: np.ndarray, thresholds: np.ndarray, before: np.ndarray
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
    """
    turned = old.sum_per_bag(np.where(before != decisions, old.areas, 0)) / old.sum_per_bag(old.areas)
    new = replace(old, scores=scores, decisions=decisions, thresholds=thresholds, change=turned)
    return _mark_changes(old, replace(new, doubt=measure_doubts(new)))


def _mark_changes(old: Snapshot, new: Snapshot) -> Snapshot:
    """Give the new snapshot its number, and that number to every bag that looks different in it."""
    spread = float(np.ptp(new.scores)) or 1.0
    segments = (
        (np.abs(old.scores - new.scores) > QUIET * spread) | (old.decisions != new.decisions) | (old.fixed != new.fixed)
    )
    bags = new.sum_per_bag(segments.astype(np.int64)) > 0
    for name in ("tags", "moved", "looked", "change", "disagreement", "thresholds"):
        bags |= getattr(old, name) != getattr(new, name)
    version = old.version + 1
    return replace(new, version=version, changed_at=np.where(bags, version, old.changed_at))


def disagree(old: Snapshot, other: np.ndarray) -> Snapshot:
    """Take note of another voter's decisions (n_segments,): one minus the overlap of the two masks, per *with* bag."""
    unlike = np.where(old.tags, measure_unlikeness(old, other), 0.0)
    return _mark_changes(old, replace(old, disagreement=unlike))


def measure_doubts(snapshot: Snapshot) -> np.ndarray:
    """(n_bags,) doubt of *with* bags; 0 for *without* bags, which have no mask to be wrong."""
    doubts = np.zeros(snapshot.n_bags)
    for bag in np.flatnonzero(snapshot.tags):
        part = snapshot.get_slice(int(bag))
        doubts[bag] = measure_doubt(snapshot.scores[part], snapshot.decisions[part], snapshot.areas[part])
    return doubts


def rank_images(snapshot: Snapshot) -> np.ndarray:
    """(n_bags,) how much a person's look would help, in [0, 1]; images looked at come last.

    All signs are compared by rank among the *with* images, so that none of them drowns the others. A *without* image
    comes after every *with* image, the one with the highest score first.
    """
    signs = {
        "unsteady": measure_unsteadiness(snapshot),
        "close": measure_closeness(snapshot),
        "doubt": snapshot.doubt,
        "change": snapshot.change,
        "disagreement": snapshot.disagreement,
    }
    inside, outside = np.flatnonzero(snapshot.tags), np.flatnonzero(~snapshot.tags)
    priority = np.zeros(snapshot.n_bags)
    for name, share in PRIORITY.items():
        priority[inside] += share * _rank(signs[name][inside])
    corrected = snapshot.sum_per_bag((snapshot.fixed >= 0).astype(np.int64)) > 0
    priority = np.where(corrected, priority / CORRECTED_DISCOUNT, priority)
    priority[inside] = 0.3 + 0.7 * priority[inside]
    highest = np.maximum.reduceat(snapshot.scores, snapshot.offsets[:-1])
    priority[outside] = 0.25 * _rank(highest[outside])
    return np.where(snapshot.looked, priority * 1e-3, priority)


def measure_unsteadiness(snapshot: Snapshot) -> np.ndarray:
    """(n_bags,) share of the mask that comes or goes when the threshold is nudged, both ways added."""
    low = np.minimum.reduceat(snapshot.scores, snapshot.offsets[:-1])
    total = np.zeros(snapshot.n_bags)
    for nudge in NUDGES:
        other = snapshot.scores > snapshot.spread(low + (snapshot.thresholds - low) * nudge)
        total += measure_unlikeness(snapshot, other)
    return total


def measure_unlikeness(snapshot: Snapshot, other: np.ndarray) -> np.ndarray:
    """(n_bags,) one minus the overlap of the masks with those of other decisions (n_segments,)."""
    both = snapshot.sum_per_bag(np.where(snapshot.decisions & other, snapshot.areas, 0))
    either = snapshot.sum_per_bag(np.where(snapshot.decisions | other, snapshot.areas, 0))
    return 1 - both / np.maximum(either, 1)


def measure_closeness(snapshot: Snapshot) -> np.ndarray:
    """(n_bags,) area whose score is hardly above or below the threshold, in areas of the mask."""
    scale = NEARNESS * (float(np.ptp(snapshot.scores)) or 1.0)
    close = np.exp(-np.abs(snapshot.scores - snapshot.spread(snapshot.thresholds)) / scale)
    covered = snapshot.sum_per_bag(np.where(snapshot.decisions, snapshot.areas, 0))
    return snapshot.sum_per_bag(close * snapshot.areas) / np.maximum(covered, 1)


def _rank(values: np.ndarray) -> np.ndarray:
    """Place in [0, 1] among the others; equal values share the lowest place."""
    if len(values) < 2:
        return np.zeros(len(values))
    return np.searchsorted(np.sort(values), values) / (len(values) - 1)


def measure_heat(snapshot: Snapshot, bag: int) -> np.ndarray:
    """(n,) uint8 warmth of a bag's segments, 128 where the decision changes; *without* bags on the scale of the run."""
    scores = snapshot.scores[snapshot.get_slice(bag)]
    high = float(scores.max()) if snapshot.tags[bag] else float(snapshot.scores.max())
    heat = scale_heat(scores, float(snapshot.thresholds[bag]), float(snapshot.scores.min()), high)
    return np.round(255 * heat).astype(np.uint8)


def encode_update(snapshot: Snapshot, since: int = 0) -> bytes:
    """Everything the page has to draw again, little endian.

    Header: magic, version, action, number of bags (4 x uint32). Per bag: number, n_segments, flags (3 x uint32);
    threshold, doubt, change, priority, covered share (5 x float32); n float32 scores; n uint8 heat; n uint8 state (what
    a person said plus one, and 4 where it is object); padding to four bytes.
    """
    bags = np.flatnonzero(snapshot.changed_at > since)
    priority = rank_images(snapshot)
    covered = snapshot.sum_per_bag(np.where(snapshot.decisions, snapshot.areas, 0)) / snapshot.sum_per_bag(
        snapshot.areas
    )
    parts = [struct.pack("<4I", MAGIC, snapshot.version, snapshot.action, len(bags))]
    for bag in bags:
        parts.append(_encode_bag(snapshot, int(bag), float(priority[bag]), float(covered[bag])))
    return b"".join(parts)


def _encode_bag(snapshot: Snapshot, bag: int, priority: float, covered: float) -> bytes:
    part = snapshot.get_slice(bag)
    n_segments = part.stop - part.start
    flags = LOOKED * snapshot.looked[bag] + IS_WITH * snapshot.tags[bag] + MOVED * snapshot.moved[bag]
    state = (snapshot.fixed[part] + 1).astype(np.uint8) | np.where(snapshot.decisions[part], SELECTED, 0).astype(
        np.uint8
    )
    head = struct.pack("<3I", bag, n_segments, int(flags))
    figures = (snapshot.thresholds[bag], snapshot.doubt[bag], snapshot.change[bag], priority, covered)
    numbers = struct.pack("<5f", *map(float, figures))
    scores = snapshot.scores[part].astype("<f4").tobytes()
    padding = bytes(-2 * n_segments % 4)
    return head + numbers + scores + measure_heat(snapshot, bag).tobytes() + state.tobytes() + padding
