"""Snapshots as bytes for the page, the order of the queue, and explanations."""

from __future__ import annotations

import struct
from dataclasses import asdict
from typing import Any

import numpy as np

from segvote.masks import scale_heat
from segvote.pipeline.explain import SegmentExplanation
from segvote.review.snapshot import Snapshot

MAGIC = 0x31305653  # "SV01", little endian
SELECTED = 4
ACCEPTED, POSITIVE, MOVED, CORRECTED, MEASURED, PREDICTED = 1, 2, 4, 8, 16, 32


def scale_bag(snapshot: Snapshot, bag: int) -> np.ndarray:
    """(n,) heat of a bag's segments in [0, 1], as the run's files have it; *without* bags on the scale of the run.

    A bag that did not vote may score beyond the range of the vote.
    """
    scores, voting = snapshot.scores[snapshot.get_slice(bag)], snapshot.voting_scores
    threshold = float(snapshot.thresholds[bag])
    high = float(scores.max()) if snapshot.positive[bag] else max(float(voting.max()), threshold)
    return scale_heat(scores, threshold, min(float(voting.min()), float(scores.min())), high)


def encode_update(snapshot: Snapshot, since: int = 0) -> bytes:
    """The bags that changed after a version, little endian.

    Header: magic, version, action, number of bags (4 x uint32). Per bag: number, n_segments, flags (3 x uint32);
    threshold, uncertainty, change, priority, covered share (5 x float32); n float32 scores; n uint8 heat; n uint8 state
    (user label plus one, and 4 where it is object); padding to four bytes.
    """
    bags = np.flatnonzero(snapshot.changed_at > since).tolist()
    priority, corrected = rank_images(snapshot), snapshot.corrected
    parts = [_encode_bag(snapshot, bag, float(priority[bag]), bool(corrected[bag])) for bag in bags]
    return b"".join([struct.pack("<4I", MAGIC, snapshot.version, snapshot.action, len(bags)), *parts])


def _encode_bag(snapshot: Snapshot, bag: int, priority: float, corrected: bool) -> bytes:
    part = snapshot.get_slice(bag)
    n_segments = part.stop - part.start
    selected = np.where(snapshot.selected[part], SELECTED, 0).astype(np.uint8)
    state = (snapshot.user_labels[part] + 1).astype(np.uint8) | selected
    flags = (
        (ACCEPTED, snapshot.accepted[bag]),
        (POSITIVE, snapshot.positive[bag]),
        (MOVED, snapshot.moved[bag]),
        (CORRECTED, corrected),
        (MEASURED, snapshot.is_measured[bag]),
        (PREDICTED, not snapshot.is_voter[bag]),
    )
    head = struct.pack("<3I", bag, n_segments, sum(bit for bit, is_set in flags if is_set))
    shares = snapshot.uncertainty[bag], snapshot.change[bag], priority, snapshot.covered[bag]
    numbers = struct.pack("<5f", snapshot.thresholds[bag], *shares)
    scores = snapshot.scores[part].astype("<f4").tobytes()
    heat = np.round(255 * scale_bag(snapshot, bag)).astype(np.uint8)
    return head + numbers + scores + heat.tobytes() + state.tobytes() + bytes(-2 * n_segments % 4)


# Distance from the threshold, in shares of the run's range, within which a score is close to it.
NEARNESS = 0.02
# An image that was corrected but not accepted comes later: the first correction helps most.
CORRECTED_DISCOUNT = 2.5


def rank_images(snapshot: Snapshot) -> np.ndarray:
    """(n_bags,) place in the queue in [0, 1], the most uncertain mask first; accepted images come last.

    Three signs of a wrong mask count the same, by rank among the *with* images: much area close to the threshold,
    neighbours that disagree, and a redrawn mask that differs from its segments. *Without* images follow, the one with
    the highest score first.
    """
    signs = (measure_closeness(snapshot), snapshot.disagreement, snapshot.redrawn)
    inside, outside = np.flatnonzero(snapshot.positive), np.flatnonzero(~snapshot.positive)
    priority = np.zeros(len(snapshot.positive))
    for sign in signs:
        priority[inside] += _rank(sign[inside]) / len(signs)
    priority = np.where(snapshot.corrected, priority / CORRECTED_DISCOUNT, priority)
    priority[inside] = 0.3 + 0.7 * priority[inside]
    highest = np.maximum.reduceat(snapshot.scores, snapshot.offsets[:-1])
    priority[outside] = 0.25 * _rank(highest[outside])
    return np.where(snapshot.accepted, priority * 1e-3, priority)


def measure_closeness(snapshot: Snapshot) -> np.ndarray:
    """(n_bags,) area with scores close to the threshold, in areas of the mask."""
    scale = NEARNESS * (float(np.ptp(snapshot.scores)) or 1.0)
    close = np.exp(-np.abs(snapshot.scores - snapshot.spread(snapshot.thresholds)) / scale)
    covered = snapshot.sum_per_bag(np.where(snapshot.selected, snapshot.areas, 0))
    return snapshot.sum_per_bag(close * snapshot.areas) / np.maximum(covered, 1)


def _rank(values: np.ndarray) -> np.ndarray:
    """Rank in [0, 1]; equal values share the lowest one."""
    if len(values) < 2:
        return np.zeros(len(values))
    return np.searchsorted(np.sort(values), values) / (len(values) - 1)


MAX_LINES = 12  # of an explanation, for and against


def describe_explanation(explanation: SegmentExplanation, bag: int, segment: int) -> dict[str, Any]:
    """Contributions to the score of a segment, as JSON for the page."""
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
