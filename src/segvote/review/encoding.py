"""Snapshots as bytes for the page: only what changed, little endian."""

from __future__ import annotations

import struct

import numpy as np

from segvote.masks import scale_heat
from segvote.review.ranking import rank_images
from segvote.review.snapshot import Snapshot

MAGIC = 0x31305653  # "SV01", little endian
SELECTED = 4
ACCEPTED, POSITIVE, MOVED, CORRECTED, MEASURED = 1, 2, 4, 8, 16


def scale_bag(snapshot: Snapshot, bag: int) -> np.ndarray:
    """(n,) heat of a bag's segments in [0, 1], as the run's files have it; *without* bags on the scale of the run."""
    scores = snapshot.scores[snapshot.get_slice(bag)]
    high = float(scores.max()) if snapshot.positive[bag] else float(snapshot.scores.max())
    return scale_heat(scores, float(snapshot.thresholds[bag]), float(snapshot.scores.min()), high)


def measure_heat(snapshot: Snapshot, bag: int) -> np.ndarray:
    """(n,) uint8 warmth of a bag's segments, 128 where the decision changes."""
    return np.round(255 * scale_bag(snapshot, bag)).astype(np.uint8)


def encode_update(snapshot: Snapshot, since: int = 0) -> bytes:
    """Everything the page has to draw again, little endian.

    Header: magic, version, action, number of bags (4 x uint32). Per bag: number, n_segments, flags (3 x uint32);
    threshold, uncertainty, change, priority, covered share (5 x float32); n float32 scores; n uint8 heat; n uint8 state
    (user label plus one, and 4 where it is object); padding to four bytes.
    """
    bags = np.flatnonzero(snapshot.changed_at > since)
    priority, corrected = rank_images(snapshot), snapshot.corrected
    parts = [struct.pack("<4I", MAGIC, snapshot.version, snapshot.action, len(bags))]
    for bag in bags:
        parts.append(_encode_bag(snapshot, int(bag), float(priority[bag]), bool(corrected[bag])))
    return b"".join(parts)


def _encode_bag(snapshot: Snapshot, bag: int, priority: float, corrected: bool) -> bytes:
    part = snapshot.get_slice(bag)
    n_segments = part.stop - part.start
    selected = np.where(snapshot.decisions[part], SELECTED, 0).astype(np.uint8)
    state = (snapshot.user_labels[part] + 1).astype(np.uint8) | selected
    head = struct.pack("<3I", bag, n_segments, _join_flags(snapshot, bag, corrected))
    figures = (
        snapshot.thresholds[bag],
        snapshot.uncertainty[bag],
        snapshot.change[bag],
        priority,
        snapshot.covered[bag],
    )
    numbers = struct.pack("<5f", *map(float, figures))
    scores = snapshot.scores[part].astype("<f4").tobytes()
    padding = bytes(-2 * n_segments % 4)
    return head + numbers + scores + measure_heat(snapshot, bag).tobytes() + state.tobytes() + padding


def _join_flags(snapshot: Snapshot, bag: int, corrected: bool) -> int:
    flags = (
        (ACCEPTED, snapshot.accepted[bag]),
        (POSITIVE, snapshot.positive[bag]),
        (MOVED, snapshot.moved[bag]),
        (CORRECTED, corrected),
        (MEASURED, snapshot.is_measured[bag]),
    )
    return sum(bit for bit, is_set in flags if is_set)
