"""The state that the page shows, as arrays that are never changed: each vote and each action makes a new `Snapshot`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from segvote.review.places import Places
from segvote.selection import make_unknown_labels

# A score may drift by this share of the run's range before it is sent to the page again.
QUIET = 1e-4


@dataclass(frozen=True)
class UserInput:
    """The corrections of one moment, by segment and bag; names are those of `Snapshot`.

    `painted_shares` and `finished` (n_segments,) are those of `label_bag`.
    """

    action: int
    user_labels: np.ndarray
    painted: np.ndarray
    positive: np.ndarray
    moved: np.ndarray
    accepted: np.ndarray
    painted_shares: np.ndarray | None = None
    finished: np.ndarray | None = None


@dataclass(frozen=True)
class Snapshot:
    """All images at one moment.

    Attributes
    ----------
    version, action
        Counts snapshots; number of the last action of the log that it includes.
    offsets, areas
        (n_bags + 1,) where each bag's segments begin; (n_segments,) pixels.
    scores, selected, user_labels
        (n_segments,) score; bool object; int8: 1 object, 0 background, -1 where there is no label.
    thresholds
        (n_bags,) score above which segments are object.
    positive, moved, accepted
        (n_bags,) bool: the bag label is *with*; it is not that of the bag's folder; the mask was accepted.
    is_voter
        (n_bags,) bool: the bag took part in the last vote; else it is predicted by the model of an earlier one.
    painted
        (n_bags,) number of the last action on a bag with painted pixels; 0: none; -1: unknown.
    uncertainty, disagreement, redrawn
        (n_bags,) in [0, 1]: the method's uncertainty about the mask; `measure_disagreement`, 0 for a voter without a
        graph; how much the mask differs from its segments once redrawn along the picture's edges.
    covered, change, is_measured
        (n_bags,) share of the image that the mask covers; share of the image in which it differs from the mask on the
        disk; whether both were counted on the mask as it would be written, or are estimates by whole segments.
    changed_at, touched_at
        (n_bags,) version in which the page last had reason to draw the bag again; in which anything changed that the
        mask depends on.
    written
        The state from which the files on the disk were written; None only in such a state itself.
    """

    version: int
    action: int
    offsets: np.ndarray
    areas: np.ndarray
    scores: np.ndarray
    selected: np.ndarray
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
    is_voter: np.ndarray
    written: Snapshot | None = None

    @property
    def user(self) -> UserInput:
        """The corrections that this snapshot includes."""
        return UserInput(self.action, self.user_labels, self.painted, self.positive, self.moved, self.accepted)

    @property
    def corrected(self) -> np.ndarray:
        """(n_bags,) bool: the bag has user labels or painted pixels."""
        return (self.sum_per_bag((self.user_labels >= 0).astype(np.int64)) > 0) | (self.painted > 0)

    @property
    def voting_scores(self) -> np.ndarray:
        """Scores of the segments that voted: heat is scaled by their range, whatever else is shown."""
        return self.scores if self.is_voter.all() else self.scores[self.spread(self.is_voter)]

    def get_slice(self, bag: int) -> slice:
        return slice(int(self.offsets[bag]), int(self.offsets[bag + 1]))

    def sum_per_bag(self, values: np.ndarray) -> np.ndarray:
        """(n_segments,) to (n_bags,) sums."""
        return np.add.reduceat(values, self.offsets[:-1])

    def measure_share(self, chosen: np.ndarray) -> np.ndarray:
        """(n_bags,) share of each image that the chosen segments (n_segments,) bool cover."""
        return self.sum_per_bag(np.where(chosen, self.areas, 0)) / self.sum_per_bag(self.areas)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """(n_bags,) to (n_segments,): every segment gets the value of its bag."""
        return np.repeat(values, np.diff(self.offsets))


def make_snapshot(
    offsets: np.ndarray,
    areas: np.ndarray,
    positive: np.ndarray,
    scores: np.ndarray,
    selected: np.ndarray,
    thresholds: np.ndarray,
    uncertainty: np.ndarray,
    covered: np.ndarray | None = None,
    is_voter: np.ndarray | None = None,
) -> Snapshot:
    """The first snapshot, of a finished run without corrections.

    `covered` None: the share of the selected segments; `is_voter` None: all.
    """
    n_bags = len(positive)
    zeros, false, ones = np.zeros(n_bags), np.zeros(n_bags, dtype=bool), np.ones(n_bags, dtype=np.int64)
    first = Snapshot(
        version=1,
        action=0,
        offsets=offsets,
        areas=areas,
        scores=scores,
        selected=selected,
        user_labels=make_unknown_labels(len(scores)),
        thresholds=thresholds,
        positive=positive,
        moved=false,
        accepted=false,
        painted=0 * ones,
        uncertainty=uncertainty,
        disagreement=zeros,
        redrawn=zeros,
        covered=zeros,
        change=zeros,
        is_measured=~false,
        changed_at=ones,
        touched_at=ones,
        is_voter=~false if is_voter is None else is_voter,
    )
    first = replace(first, covered=first.measure_share(selected) if covered is None else covered)
    return replace(first, written=first)


def add_bag(old: Snapshot, new: Snapshot) -> Snapshot:
    """The snapshot with the bag of another one, which has no other, behind its own."""
    version = old.version + 1
    new = replace(new, changed_at=new.changed_at * version, touched_at=new.touched_at * version)
    joined = replace(_join(old, new), version=version)
    return joined if old.written is None else replace(joined, written=_join(old.written, new))


def _join(one: Snapshot, other: Snapshot) -> Snapshot:
    arrays = [name for name, value in vars(one).items() if isinstance(value, np.ndarray) and name != "offsets"]
    joined: dict[str, Any] = {name: np.concatenate([getattr(one, name), getattr(other, name)]) for name in arrays}
    return replace(one, offsets=np.append(one.offsets, one.offsets[-1] + other.offsets[1:]), **joined)


def apply_user(old: Snapshot, user: UserInput) -> Snapshot:
    """The snapshot with other corrections, before they are voted on: labelled segments change at once."""
    new = replace(
        old,
        action=user.action,
        user_labels=user.user_labels,
        painted=user.painted,
        positive=user.positive,
        moved=user.moved,
        accepted=user.accepted,
        selected=_hold_labels(old, old.selected, user.user_labels, user.positive),
    )
    return _mark_changes(old, new)


def _hold_labels(old: Snapshot, selected: np.ndarray, user_labels: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """(n_segments,) bool selection in which user labels hold; *without* bags have no other object segments."""
    held = np.where(user_labels >= 0, user_labels == 1, selected)
    return held & (old.spread(positive) | (user_labels == 1))


def apply_votes(
    old: Snapshot,
    scores: np.ndarray,
    selected: np.ndarray,
    thresholds: np.ndarray,
    graph: sparse.csr_matrix | None = None,
    uncertainty: np.ndarray | None = None,
    places: Places | None = None,
) -> Snapshot:
    """The snapshot with the result of a vote; user labels that came after the vote hold.

    `graph`, the weights of the neighbours (n_segments, n_segments), is that of the vote, to measure disagreement anew;
    None leaves disagreement, as `uncertainty` None leaves uncertainty. `places` are those of the bags that voted, in
    the order of the graph; None: all of them, in their order.
    """
    selected = _hold_labels(old, selected, old.user_labels, old.positive)
    new = replace(old, scores=scores, selected=selected, thresholds=thresholds)
    if places is not None:
        new = replace(new, is_voter=places.mark(len(thresholds)))
    if graph is not None:
        new = replace(new, disagreement=measure_disagreement(new, graph, places))
    if uncertainty is not None:
        # As `run.json` rounds it: page and report show the same number.
        new = replace(new, uncertainty=np.round(uncertainty, 6))
    return _mark_changes(old, new)


def note_redrawn(old: Snapshot, redrawn: np.ndarray) -> Snapshot:
    """The snapshot with `redrawn` measured of the first bags. *Without* bags have no mask to be wrong."""
    both = np.concatenate([redrawn, old.redrawn[len(redrawn) :]])
    return _mark_changes(old, replace(old, redrawn=np.where(old.positive, both, 0.0)))


def note_measured(old: Snapshot, bag: int, covered: float, change: float) -> Snapshot:
    """The snapshot with the figures that were counted on the drawn mask of a bag."""
    new = replace(
        old,
        covered=_put(old.covered, bag, covered),
        change=_put(old.change, bag, change),
        is_measured=_put(old.is_measured, bag, True),
    )
    return _mark_changes(old, new)


def note_written(old: Snapshot, written: Snapshot) -> Snapshot:
    """The snapshot after files were written from a state: changes count from there."""
    same = _is_same(written, old)
    new = replace(
        old,
        written=written,
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
    segments = drifted | (old.selected != new.selected) | (old.user_labels != new.user_labels)
    bags = new.sum_per_bag(segments.astype(np.int64)) > 0
    seen = ("positive", "moved", "accepted", "painted", "uncertainty", "disagreement", "redrawn", "thresholds")
    for name in (*seen, "covered", "change", "is_measured", "is_voter"):
        bags |= getattr(old, name) != getattr(new, name)
    return replace(new, changed_at=np.where(bags, new.version, old.changed_at))


def _estimate_masks(old: Snapshot, new: Snapshot) -> Snapshot:
    """Where a mask may have changed, count whole segments until it has been drawn.

    Masks are redrawn along the picture's edges: the change by segments is added to the share that the written mask
    covers.
    """
    touched = ~_is_same(old, new)
    if not touched.any() or new.written is None:
        return new
    same, written = _is_same(new.written, new), new.written
    turned = new.measure_share(new.selected != written.selected)
    more = new.measure_share(new.selected) - new.measure_share(written.selected)
    covered = np.where(same, written.covered, np.clip(written.covered + more, 0.0, 1.0))
    return replace(
        new,
        covered=np.where(touched, covered, old.covered),
        change=np.where(touched, np.where(same, 0.0, turned), old.change),
        is_measured=np.where(touched, same, old.is_measured),
        touched_at=np.where(touched, new.version, old.touched_at),
    )


def _is_same(old: Snapshot, new: Snapshot) -> np.ndarray:
    """(n_bags,) bool: nothing that the bag's mask depends on differs. Heat is scaled by the lowest score of a vote."""
    differ = (old.scores != new.scores) | (old.selected != new.selected) | (old.user_labels != new.user_labels)
    same = new.sum_per_bag(differ.astype(np.int64)) == 0
    for name in ("thresholds", "positive", "painted"):
        same &= getattr(old, name) == getattr(new, name)
    return same & (old.voting_scores.min() == new.voting_scores.min())


def measure_disagreement(snapshot: Snapshot, graph: sparse.csr_matrix, places: Places | None = None) -> np.ndarray:
    """(n_bags,) how much of the votes for a mask comes from segments that are not object themselves.

    Averaged over the area of the mask. User labels neither count nor are counted against. The rows of the graph, the
    weights of the neighbours (n_segments, n_segments), sum to one. Bags without `places` in the vote have none.
    """
    selected = snapshot.selected.astype(np.float64)
    if places is None:
        outside = 1 - graph @ selected
    else:
        outside = places.put(1 - graph @ places.take(selected), np.zeros(len(selected)))
    disputed = np.where(snapshot.selected & (snapshot.user_labels < 0), outside * snapshot.areas, 0)
    covered = snapshot.sum_per_bag(np.where(snapshot.selected, snapshot.areas, 0))
    return np.where(snapshot.positive, snapshot.sum_per_bag(disputed) / np.maximum(covered, 1), 0.0)
