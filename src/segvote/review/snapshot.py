"""What the page shows, as arrays that are never changed: each vote and each action makes a new `Snapshot`.

Nothing here reads, writes or waits; the engine decides when, this file decides what.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

# A score may drift by this share of the run's range before it is sent to the page again.
QUIET = 1e-4


@dataclass(frozen=True)
class UserInput:
    """All user labels of one moment.

    Attributes
    ----------
    action
        Number of the last action of the log.
    user_labels
        (n_segments,) int8: 1 object, 0 background, -1 where there is no label.
    painted
        (n_bags,) number of the last action that painted pixels of the bag and stands; 0: none.
    positive, moved, accepted
        (n_bags,) bool: the bag label is *with*; it is not that of the bag's folder; the mask was accepted.
    painted_shares
        (n_segments,) share of each segment that was painted, see `SegmentAnnotator.correct`; None: as it was, for
        readers that hold no vote.
    """

    action: int
    user_labels: np.ndarray
    painted: np.ndarray
    positive: np.ndarray
    moved: np.ndarray
    accepted: np.ndarray
    painted_shares: np.ndarray | None = None


@dataclass(frozen=True)
class Written:
    """From what the masks on the disk were written.

    Attributes
    ----------
    scores, decisions, user_labels
        (n_segments,) as in `Snapshot`.
    thresholds, positive, painted, covered
        (n_bags,) as in `Snapshot`.
    is_known
        (n_bags,) bool: the user labels and painted pixels of the bag at that time are known to be these.
    """

    scores: np.ndarray
    decisions: np.ndarray
    user_labels: np.ndarray
    thresholds: np.ndarray
    positive: np.ndarray
    painted: np.ndarray
    covered: np.ndarray
    is_known: np.ndarray


@dataclass(frozen=True)
class Snapshot:
    """All images at one moment.

    Attributes
    ----------
    version, action
        Counts snapshots; number of the last action of the log that it knows.
    offsets, areas
        (n_bags + 1,) where each bag's segments begin; (n_segments,) pixels.
    scores, decisions, user_labels
        (n_segments,) score; bool object; int8, -1 where there is no label.
    thresholds, positive, moved, accepted, painted
        (n_bags,) score above which segments are object, and as in `UserInput`.
    uncertainty, disagreement, redrawn
        (n_bags,) in [0, 1]: the method's uncertainty about the mask; how much the voters of the mask disagree (see
        `measure_disagreement`), or how unlike another voter's mask is where the run's voter keeps no votes; how unlike
        the segments the mask is once redrawn along the picture's edges.
    covered, change, is_measured
        (n_bags,) share of the image that the mask covers; share of the image in which it differs from the mask on the
        disk; whether both were counted on the mask as it would be written, or are estimates by whole segments.
    changed_at, touched_at
        (n_bags,) version in which the page last had reason to draw the bag again; in which anything changed that the
        mask depends on.
    written
        From what the files on the disk were written.
    """

    version: int
    action: int
    offsets: np.ndarray
    areas: np.ndarray
    scores: np.ndarray
    decisions: np.ndarray
    user_labels: np.ndarray
    thresholds: np.ndarray
    positive: np.ndarray
    moved: np.ndarray
    accepted: np.ndarray
    painted: np.ndarray
    uncertainty: np.ndarray
    disagreement: np.ndarray
    redrawn: np.ndarray
    covered: np.ndarray
    change: np.ndarray
    is_measured: np.ndarray
    changed_at: np.ndarray
    touched_at: np.ndarray
    written: Written

    @property
    def n_bags(self) -> int:
        return len(self.positive)

    @property
    def user(self) -> UserInput:
        """User labels, as far as this snapshot knows."""
        return UserInput(self.action, self.user_labels, self.painted, self.positive, self.moved, self.accepted)

    @property
    def corrected(self) -> np.ndarray:
        """(n_bags,) bool: the bag has user labels or painted pixels."""
        return (self.sum_per_bag((self.user_labels >= 0).astype(np.int64)) > 0) | (self.painted > 0)

    def get_slice(self, bag: int) -> slice:
        return slice(int(self.offsets[bag]), int(self.offsets[bag + 1]))

    def sum_per_bag(self, values: np.ndarray) -> np.ndarray:
        """(n_segments,) to (n_bags,) sums."""
        return np.add.reduceat(values, self.offsets[:-1])

    def measure_share(self, chosen: np.ndarray) -> np.ndarray:
        """(n_bags,) share of each image that the chosen segments (n_segments,) bool cover."""
        return self.sum_per_bag(np.where(chosen, self.areas, 0)) / self.sum_per_bag(self.areas)

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
    positive: np.ndarray,
    scores: np.ndarray,
    decisions: np.ndarray,
    thresholds: np.ndarray,
    covered: np.ndarray | None = None,
    uncertainty: np.ndarray | None = None,
) -> Snapshot:
    """The first snapshot: a finished run, nothing corrected.

    Parameters
    ----------
    offsets, areas, positive, scores, decisions, thresholds
        As in `Snapshot`.
    covered
        (n_bags,) shares of the images that the written masks cover; None: those of the decided segments.
    uncertainty
        (n_bags,) as in `Snapshot`; None: 0.
    """
    n_bags = len(positive)
    zeros, false = np.zeros(n_bags), np.zeros(n_bags, dtype=bool)
    no_labels, not_painted = np.full(len(scores), -1, dtype=np.int8), np.zeros(n_bags, dtype=np.int64)
    if covered is None:
        sums = (np.add.reduceat(values, offsets[:-1]) for values in (np.where(decisions, areas, 0), areas))
        covered = next(sums) / next(sums)
    written = Written(scores, decisions, no_labels, thresholds, positive, not_painted, covered, ~false)
    return Snapshot(
        version=1,
        action=0,
        offsets=offsets,
        areas=areas,
        scores=scores,
        decisions=decisions,
        user_labels=no_labels,
        thresholds=thresholds,
        positive=positive,
        moved=false,
        accepted=false,
        painted=not_painted,
        uncertainty=zeros if uncertainty is None else uncertainty,
        disagreement=zeros,
        redrawn=zeros,
        covered=covered,
        change=zeros,
        is_measured=~false,
        changed_at=np.ones(n_bags, dtype=np.int64),
        touched_at=np.ones(n_bags, dtype=np.int64),
        written=written,
    )


def apply_user(old: Snapshot, user: UserInput) -> Snapshot:
    """User labels before they are voted on: they hold at once."""
    new = replace(
        old,
        action=user.action,
        user_labels=user.user_labels,
        painted=user.painted,
        positive=user.positive,
        moved=user.moved,
        accepted=user.accepted,
        decisions=_hold_labels(old, old.decisions, user.user_labels, user.positive),
    )
    return _mark_changes(old, new)


def drop_labels(old: Snapshot) -> Snapshot:
    """The same without any user label, before it is voted on."""
    return apply_user(old, replace(old.user, user_labels=np.full(len(old.scores), -1, dtype=np.int8)))


def _hold_labels(old: Snapshot, decisions: np.ndarray, user_labels: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """(n_segments,) bool decisions in which user labels hold, and without bags have nothing else."""
    held = np.where(user_labels >= 0, user_labels == 1, decisions)
    return held & (old.spread(positive) | (user_labels == 1))


def apply_votes(
    old: Snapshot,
    scores: np.ndarray,
    decisions: np.ndarray,
    thresholds: np.ndarray,
    graph: sparse.csr_matrix | None = None,
    uncertainty: np.ndarray | None = None,
) -> Snapshot:
    """The result of a vote.

    Parameters
    ----------
    old
        The snapshot; it may know of user labels that came after the vote, and they hold.
    scores, decisions, thresholds
        As in `Snapshot`.
    graph
        (n_segments, n_segments) weights of the neighbours, of a voter that keeps them: disagreement is measured anew.
    uncertainty
        (n_bags,) of the masks; None: as it was.
    """
    decisions = _hold_labels(old, decisions, old.user_labels, old.positive)
    new = replace(old, scores=scores, decisions=decisions, thresholds=thresholds)
    if graph is not None:
        new = replace(new, disagreement=measure_disagreement(new, graph))
    if uncertainty is not None:
        # As `run.json` rounds it: page and report show the same number.
        new = replace(new, uncertainty=np.round(uncertainty, 6))
    return _mark_changes(old, new)


def note_signs(old: Snapshot, disagreement: np.ndarray | None = None, redrawn: np.ndarray | None = None) -> Snapshot:
    """Take note of signs of wrong masks, (n_bags,) each; None: as it was. *Without* bags have no mask to be wrong."""
    new = replace(
        old,
        disagreement=old.disagreement if disagreement is None else np.where(old.positive, disagreement, 0.0),
        redrawn=old.redrawn if redrawn is None else np.where(old.positive, redrawn, 0.0),
    )
    return _mark_changes(old, new)


def note_measured(old: Snapshot, bag: int, covered: float, change: float) -> Snapshot:
    """Take note of what was counted on the drawn mask of a bag."""
    new = replace(
        old,
        covered=_put(old.covered, bag, covered),
        change=_put(old.change, bag, change),
        is_measured=_put(old.is_measured, bag, True),
    )
    return _mark_changes(old, new)


def note_written(old: Snapshot, written: Written) -> Snapshot:
    """Take note that the files were written: changes count from there."""
    new = replace(old, written=written)
    same = _is_as_written(new)
    new = replace(
        new,
        covered=np.where(same, written.covered, old.covered),
        change=np.where(same, 0.0, old.change),
        is_measured=same,
    )
    return _mark_changes(old, new)


def _put(values: np.ndarray, bag: int, value: float) -> np.ndarray:
    changed = values.copy()
    changed[bag] = value
    return changed


def _mark_changes(old: Snapshot, new: Snapshot) -> Snapshot:
    """Give the new snapshot its number, and that number to every bag that looks different in it."""
    new = _estimate_masks(old, replace(new, version=old.version + 1))
    spread = float(np.ptp(new.scores)) or 1.0
    drifted = np.abs(old.scores - new.scores) > QUIET * spread
    segments = drifted | (old.decisions != new.decisions) | (old.user_labels != new.user_labels)
    bags = new.sum_per_bag(segments.astype(np.int64)) > 0
    seen = ("positive", "moved", "accepted", "painted", "uncertainty", "disagreement", "redrawn", "thresholds")
    for name in (*seen, "covered", "change", "is_measured"):
        bags |= getattr(old, name) != getattr(new, name)
    return replace(new, changed_at=np.where(bags, new.version, old.changed_at))


def _estimate_masks(old: Snapshot, new: Snapshot) -> Snapshot:
    """Where a mask may have changed, count whole segments until it has been drawn.

    Masks are redrawn along the picture's edges: what changes by segments is added to what the written mask covers.
    """
    touched = ~_is_same(old, new)
    if not touched.any():
        return new
    same = _is_as_written(new)
    turned = new.measure_share(new.decisions != new.written.decisions)
    more = new.measure_share(new.decisions) - new.measure_share(new.written.decisions)
    estimate = np.clip(new.written.covered + more, 0.0, 1.0)
    return replace(
        new,
        covered=_choose(touched, same, new.written.covered, estimate, old.covered),
        change=_choose(touched, same, np.zeros(new.n_bags), turned, old.change),
        is_measured=_choose(touched, same, True, False, old.is_measured),
        touched_at=np.where(touched, new.version, old.touched_at),
    )


def _choose(touched: np.ndarray, same: np.ndarray, known: object, estimate: object, before: np.ndarray) -> np.ndarray:
    return np.where(touched, np.where(same, known, estimate), before)  # type: ignore[call-overload, no-any-return]


def _is_as_written(snapshot: Snapshot) -> np.ndarray:
    """(n_bags,) bool: the mask of the bag is the one on the disk, because all that decides it is the same."""
    return _is_same(snapshot.written, snapshot) & snapshot.written.is_known


def _is_same(old: Snapshot | Written, new: Snapshot) -> np.ndarray:
    """(n_bags,) bool: all that decides the bag's mask is the same. Heat is scaled by the lowest score of all."""
    differ = (old.scores != new.scores) | (old.decisions != new.decisions) | (old.user_labels != new.user_labels)
    same = new.sum_per_bag(differ.astype(np.int64)) == 0
    for name in ("thresholds", "positive", "painted"):
        same &= getattr(old, name) == getattr(new, name)
    return same & (old.scores.min() == new.scores.min())


def measure_disagreement(snapshot: Snapshot, graph: sparse.csr_matrix) -> np.ndarray:
    """(n_bags,) how much of the votes for a mask comes from segments that are not object themselves.

    Averaged over the area of the mask. User labels are beyond dispute: they neither count nor are counted against.

    Parameters
    ----------
    snapshot
        Whose masks.
    graph
        (n_segments, n_segments) sparse, rows sum to one: the weight of each neighbour.
    """
    outside = 1 - graph @ snapshot.decisions.astype(np.float64)
    disputed = np.where(snapshot.decisions & (snapshot.user_labels < 0), outside * snapshot.areas, 0)
    covered = snapshot.sum_per_bag(np.where(snapshot.decisions, snapshot.areas, 0))
    return np.where(snapshot.positive, snapshot.sum_per_bag(disputed) / np.maximum(covered, 1), 0.0)
