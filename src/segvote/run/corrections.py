"""Corrections replayed from the log: user labels of segments, exact pixels, images that changed folders.

Corrections are kept as pixels, so they outlive the segments they were made on. Clicked segments (*set*) give their
label to every segment of another segmentation that they cover by more than half. Painted pixels (*paint*) are exact:
they override the mask, label the segments that they cover nearly whole, and change similar segments of the others in
proportion to the share that they cover.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from segvote import __version__
from segvote.features.networks.sam import hash_refiner
from segvote.inputs.bags import Bag
from segvote.run.correction_log import Action, read_actions
from segvote.run.record import MODEL_VERSION
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder, make_key
from segvote.settings import Settings
from segvote.types import WITH, WITHOUT

# Raised when the same corrections lead to other masks.
CORRECTIONS_VERSION = 7
BAG_LABELS = {1: WITH, 0: WITHOUT}


@dataclass(frozen=True)
class Corrections:
    """The corrections that stand after every undo.

    Attributes
    ----------
    strokes
        Image digest to its *set* and *paint* actions, the oldest first.
    accepted
        Digests of images that the user has accepted. The mask at that moment stands among the strokes as an *accept*
        action, above earlier and below later ones; such an image is finished.
    audited
        Digests of the images that were drawn at random to be finished, in that order.
    alternative
        Number of the alternative that was chosen, see `segvote.method.alternatives`; 0: the vote itself.
    moved
        Image digest to the bag label that the user gave it.
    divisions
        Image digest to its *cut* and *join* actions, the oldest first; they change no mask, see `label_instances`.
    extent
        Extent of all images; 0: that of the settings.
    extents
        Image digest to the extent chosen for it alone.
    n_undo, n_redo
        How many actions can be undone and redone.
    last
        Number of the last action of the log.
    lost
        Numbers of the actions that are damaged or missing.
    """

    strokes: dict[str, tuple[Action, ...]] = field(default_factory=dict)
    accepted: frozenset[str] = frozenset()
    moved: dict[str, str] = field(default_factory=dict)
    divisions: dict[str, tuple[Action, ...]] = field(default_factory=dict)
    audited: tuple[str, ...] = ()
    alternative: int = 0
    extent: int = 0
    extents: dict[str, int] = field(default_factory=dict)
    n_undo: int = 0
    n_redo: int = 0
    last: int = 0
    lost: tuple[int, ...] = ()

    @property
    def digest(self) -> str:
        """Key of the corrections that can change a mask; empty where there are none."""
        strokes = {
            image: [(one.value, one.height, one.width, one.counts, *_name_exact(one)) for one in actions]
            for image, actions in self.strokes.items()
        }
        chosen = {"alternative": self.alternative} if self.alternative else {}
        if not (strokes or self.moved or self.extent or self.extents or chosen):
            return ""
        return make_key(strokes=strokes, moved=self.moved, extent=self.extent, extents=self.extents, **chosen)

    @property
    def finished(self) -> frozenset[str]:
        """Digests of the accepted images whose mask is known."""
        strokes = self.strokes.items()
        return frozenset(image for image, several in strokes if any(one.kind == "accept" for one in several))

    def list_images(self) -> list[str]:
        """Digests of all images with corrections."""
        return sorted({*self.strokes, *self.accepted, *self.moved, *self.divisions, *self.extents})

    def count_actions(self, image: str) -> int:
        """Number of the corrections of an image that stand."""
        several = len(self.strokes.get(image, ())) + len(self.divisions.get(image, ()))
        return several + sum(image in one for one in (self.accepted, self.moved, self.extents))

    def has_choice(self, choice: Action) -> bool:
        """Whether an action would change none of these corrections, because it is that of an earlier choice."""
        return _apply(self, [choice]) == self

    def list_extents(self, digests: Sequence[str], default: int) -> np.ndarray:
        """(n_bags,) extent of each image, by its digest."""
        whole = self.extent or default
        return np.array([self.extents.get(digest, whole) for digest in digests], dtype=np.int64)

    def list_changed(self, other: Corrections) -> set[str]:
        """Digests of the images whose corrections differ from those of another."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("strokes", "moved", "divisions", "extents"))
        changed = {image for one, two in pairs for image in {*one, *two} if one.get(image) != two.get(image)}
        return changed | (self.accepted ^ other.accepted)


def _name_exact(action: Action) -> tuple[str | int, ...]:
    """Distinguishes painted pixels, masks and frames from segments clicked on an image, for which it is empty."""
    return (*(() if action.kind == "set" else (action.kind,)), *((action.frame,) if action.frame >= 0 else ()))


# Corrections after each of the last standing actions that are kept, so that an undo need not replay the log.
N_KEPT = 100


@dataclass(frozen=True)
class History:
    """The state of a log after an action; `extend` adds later actions without replaying the log.

    Attributes
    ----------
    standing, undone
        The actions that can be undone and redone, the next one last.
    corrections
        What the standing actions amount to.
    kept
        Corrections after so many of the standing actions, in that order; the first after none of them.
    """

    standing: tuple[Action, ...] = ()
    undone: tuple[Action, ...] = ()
    corrections: Corrections = Corrections()
    kept: tuple[tuple[int, Corrections], ...] = ((0, Corrections()),)

    def extend(self, actions: Sequence[Action]) -> History:
        """The history with the next actions; `undo` takes back the last one or batch that stands, `redo` an `undo`."""
        if not actions:
            return self
        standing, undone = list(self.standing), list(self.undone)
        n_unchanged = len(standing)
        for action in actions:
            if action.kind == "adopt":  # followed when the log was read; cannot be undone
                continue
            if action.kind == "undo":
                _move_last(standing, undone)
                n_unchanged = min(n_unchanged, len(standing))
            elif action.kind == "redo":
                _move_last(undone, standing)
            else:
                standing.append(action)
                undone.clear()
        kept = _go_on([one for one in self.kept if one[0] <= n_unchanged], standing)
        lost = (*self.corrections.lost, *(one.number for one in actions if one.kind == "lost"))
        last, n_undo, n_redo = actions[-1].number, len(standing), len(undone)
        corrections = replace(kept[-1][1], lost=lost, n_undo=n_undo, n_redo=n_redo, last=last)
        return History(tuple(standing), tuple(undone), corrections, tuple(kept))


def _go_on(kept: list[tuple[int, Corrections]], standing: Sequence[Action]) -> list[tuple[int, Corrections]]:
    """Corrections after all standing actions and after each of the last before it, from those `kept` of the first."""
    n_applied, corrections = kept[-1]
    ends = [*range(max(len(standing) - N_KEPT, n_applied + 1), len(standing)), len(standing)]
    for end in ends if len(standing) > n_applied else ():
        corrections = _apply(corrections, standing[n_applied:end])
        kept.append((end, corrections))
        n_applied = end
    return [kept[0], *kept[1:][-N_KEPT:]]


def _apply(before: Corrections, actions: Iterable[Action]) -> Corrections:
    """Corrections with more actions, none of which is an undo; those of other images are shared."""
    draft = _Draft(before)
    for action in actions:
        if action.kind in EFFECTS:
            EFFECTS[action.kind](draft, action)
    return draft.finish()


class _Draft:
    """Corrections to which actions are added one by one; lists of strokes are copied for the images they concern."""

    def __init__(self, before: Corrections) -> None:
        self.before = before
        self.strokes: dict[str, list[Action]] = {}
        self.divisions: dict[str, list[Action]] = {}
        self.accepted, self.audited, self.moved = set(before.accepted), list(before.audited), dict(before.moved)
        self.extent, self.extents, self.alternative = before.extent, dict(before.extents), before.alternative

    def add_stroke(self, action: Action) -> None:
        self._list_strokes(action.image).append(action)

    def divide(self, action: Action) -> None:
        self.divisions.setdefault(action.image, [*self.before.divisions.get(action.image, ())]).append(action)

    def accept(self, action: Action) -> None:
        """An image has one accepted mask, above earlier strokes."""
        (self.accepted.add if action.value else self.accepted.discard)(action.image)
        own = self._list_strokes(action.image)
        own[:] = [one for one in own if one.kind != "accept"]
        if action.value and action.height:
            own.append(action)

    def audit(self, action: Action) -> None:
        if action.image not in self.audited:
            self.audited.append(action.image)

    def choose_alternative(self, action: Action) -> None:
        self.alternative = action.value

    def move(self, action: Action) -> None:
        self.moved[action.image] = BAG_LABELS[action.value]

    def choose_extent(self, action: Action) -> None:
        """An extent of all images replaces those chosen for single images before."""
        if action.image:
            self.extents[action.image] = action.value
        else:
            self.extent, self.extents = action.value, {}

    def finish(self) -> Corrections:
        strokes = {**self.before.strokes, **{image: tuple(own) for image, own in self.strokes.items()}}
        return replace(
            self.before,
            strokes={image: own for image, own in strokes.items() if own},
            accepted=frozenset(self.accepted),
            moved=self.moved,
            divisions={**self.before.divisions, **{image: tuple(own) for image, own in self.divisions.items()}},
            audited=tuple(self.audited),
            alternative=self.alternative,
            extent=self.extent,
            extents=self.extents,
        )

    def _list_strokes(self, image: str) -> list[Action]:
        return self.strokes.setdefault(image, [*self.before.strokes.get(image, ())])


# Kind of an action to its effect; those of other kinds have none.
EFFECTS: dict[str, Callable[[_Draft, Action], None]] = {
    "accept": _Draft.accept,
    "alternative": _Draft.choose_alternative,
    "audit": _Draft.audit,
    "cut": _Draft.divide,
    "extent": _Draft.choose_extent,
    "join": _Draft.divide,
    "move": _Draft.move,
    "paint": _Draft.add_stroke,
    "set": _Draft.add_stroke,
}


def replay(actions: Sequence[Action]) -> Corrections:
    """The corrections that stand at the end of a log."""
    return History().extend(actions).corrections


def _move_last(source: list[Action], target: list[Action]) -> None:
    """Move the last action from one stack to the other, with its batch."""
    batch = source[-1].batch if source else 0
    if source:
        target.append(source.pop())
    while batch and source and source[-1].batch == batch:
        target.append(source.pop())


def read_corrections(run: RunFolder) -> Corrections:
    """The corrections of a run folder."""
    return replay(read_actions(run.corrections_path))


def read_written_corrections(run: Run) -> Corrections:
    """The corrections that the files of a run follow: all, or those before an action that came since."""
    actions = read_actions(run.folder.corrections_path)
    corrections = replay(actions)
    if corrections.digest == run.record.corrections:
        return corrections
    return replay([action for action in actions if action.number <= run.record.n_actions])


def make_result_key(
    settings: Settings, segmented: Sequence[Bag], corrections: Corrections, others: Sequence[Bag] = ()
) -> str:
    """Key of a run's result, made of its inputs. Corrections that were all undone leave no trace.

    Bags that vote are `segmented`, those that are predicted `others`.
    """
    bags = [(one.name, one.features_key) for one in segmented]
    corrected = {"corrections": corrections.digest, "corrected": CORRECTIONS_VERSION} if corrections.digest else {}
    refined = {"refiner": hash_refiner(settings.refine)} if settings.refine else {}
    predicted = {"predicted": [(one.name, one.features_key) for one in others]} if others else {}
    decided = {**corrected, **refined, **predicted}
    return make_key(version=__version__, model=MODEL_VERSION, settings=settings.to_dict(), bags=bags, **decided)


def move_bags(bags: Sequence[Bag], corrections: Corrections) -> list[Bag]:
    """Bags with the bag labels that the user gave them; name and file stay."""
    return [replace(bag, bag_label=corrections.moved.get(bag.digest, bag.bag_label)) for bag in bags]
