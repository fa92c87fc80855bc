"""Snapshots as bytes for the page, little endian: only what changed, and in which order images are worth a look."""

from __future__ import annotations

import struct
from dataclasses import asdict
from typing import Any

import numpy as np

from segvote.evaluation.explain import SegmentExplanation
from segvote.masks import scale_heat
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


# Scores this near to the threshold, in shares of the run's range, could as well be on its other side.
NEARNESS = 0.02
# An image that was corrected but not accepted comes later: the first correction helps most.
CORRECTED_DISCOUNT = 2.5


def rank_images(snapshot: Snapshot) -> np.ndarray:
    """(n_bags,) how much a look would help, in [0, 1]; accepted images come last.

    Three signs of a wrong mask, none of which needs a truth, count the same: much area close to the threshold, voters
    that disagree, and a redrawn mask that is unlike the segments. They are compared by rank among the *with* images, so
    that none drowns the others. A *without* image comes after every *with* image, the one with the highest score first.
    """
    signs = (measure_closeness(snapshot), snapshot.disagreement, snapshot.redrawn)
    inside, outside = np.flatnonzero(snapshot.positive), np.flatnonzero(~snapshot.positive)
    priority = np.zeros(snapshot.n_bags)
    for sign in signs:
        priority[inside] += _rank(sign[inside]) / len(signs)
    priority = np.where(snapshot.corrected, priority / CORRECTED_DISCOUNT, priority)
    priority[inside] = 0.3 + 0.7 * priority[inside]
    highest = np.maximum.reduceat(snapshot.scores, snapshot.offsets[:-1])
    priority[outside] = 0.25 * _rank(highest[outside])
    return np.where(snapshot.accepted, priority * 1e-3, priority)


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


MAX_LINES = 12  # of an explanation, for and against


def describe_explanation(explanation: SegmentExplanation, bag: int, segment: int) -> dict[str, Any]:
    """Contributions to the score of a segment in the words of the page."""
    groups = {}
    for title, sign in (("for", 1), ("against", -1)):
        lines = explanation.list_best(sign)
        groups[title] = {
            "total": sum(line.amount for line in lines),
            "n": len(lines),
            "rest": sum(line.amount for line in lines[MAX_LINES:]),
            "lines": [asdict(line) for line in lines[:MAX_LINES]],
        }
    return {
        "bag": bag,
        "segment": segment,
        "score": explanation.score,
        "threshold": explanation.threshold,
        "selected": explanation.selected,
        "userLabel": explanation.user_label,
        "neighbours": explanation.sum_amounts("neighbour"),
        "constant": explanation.constant,
        **groups,
    }
