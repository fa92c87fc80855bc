"""Import of masks that were corrected in another tool, as corrections of a run.

They are stored in the log of `segvote review` as accepted masks, and so finish their images: every mask that is written
later equals the imported one, and the vote learns from it. In a *without* image they are painted pixels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import numpy as np

from segvote.errors import BadInputError
from segvote.io.images import resize_labels
from segvote.io.imports import read_any
from segvote.io.imports.base import NameIndex, clean_name
from segvote.io.names import encode_names
from segvote.pipeline.given_masks import compare_sides, make_mask_action
from segvote.progress import Progress, count_along, ignore_progress
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.corrections import read_corrections, read_written_corrections
from segvote.run.exported import hash_mask, read_exported
from segvote.run.record import BagRecord
from segvote.run.run import Run
from segvote.types import WITH, Annotation

# A mask of another size than the image is a correction where its share of a segment differs by more than this.
SHARE = 0.1
OUTDATED = "it is as it was exported, and the mask here changed since, which is kept; export again to go on from it"


@dataclass(frozen=True)
class ImportResult:
    """The result of an import, by names of images in the run."""

    corrected: tuple[str, ...]  # written as corrections
    same: tuple[str, ...]  # as in the run, or imported before: nothing to write
    problems: tuple[tuple[str, str], ...]  # name in the file and the reason why it was left out
    covered: tuple[str, ...] = ()  # of those corrected: had clicks or strokes, over which the imported mask lies now


def import_masks(
    run: Run, path: Path | str, label: str | None = None, confirm: bool = False, progress: Progress = ignore_progress
) -> ImportResult:
    """Import the masks of a file that another tool wrote; see `segvote.import_corrections`."""
    label = _choose_label(path, label, run.settings.label)
    reader = _Reader(run, label, confirm)
    for annotation in count_along(read_any(path), "import", len(run.all_bags), progress):
        reader.read(annotation)
    with closing(CorrectionLog(run.folder.corrections_path)) as log:
        # In one transaction: a second import would take half of an image's strokes for all of them.
        log.append(*reader.actions)
    return ImportResult(tuple(reader.corrected), tuple(reader.same), tuple(reader.problems), tuple(reader.covered))


class _Reader:
    """Compares annotations with the run and collects the actions to write."""

    def __init__(self, run: Run, label: str, confirm: bool) -> None:
        self.run, self.label, self.confirm = run, label, confirm
        self.corrections, self.exported = read_corrections(run.folder), read_exported(run.folder)
        # Corrected since the masks were written: these masks are older than the corrections.
        self.pending = self.corrections.list_changed(read_written_corrections(run))
        self.numbers = {bag.name: index for index, bag in enumerate(run.all_bags)}
        self.known = _list_known(self.numbers)
        self.index = NameIndex(self.known)
        self.actions: list[Action] = []
        self.corrected: list[str] = []
        self.same: list[str] = []
        self.problems: list[tuple[str, str]] = []
        self.covered: list[str] = []

    def read(self, annotation: Annotation) -> None:
        name = self.known.get(self.index.match(annotation.name) or "")
        if name is None:
            self.problems.append((annotation.name, "it fits no image of the run, or several"))
            return
        bag = self.run.all_bags[self.numbers[name]]
        if problem := self._find_problem(annotation, bag):
            self.problems.append((annotation.name, problem))
            return
        mask = np.zeros((annotation.height or bag.height, annotation.width or bag.width), dtype=bool)
        for part in annotation.parts:
            if part.label == self.label:
                mask |= part.mask
        strokes, is_changed = _make_strokes(bag, mask), self._is_changed(name, mask)
        if self._is_known(strokes) or not (self.confirm or is_changed):
            self.same.append(name)
            return
        if self._is_outdated(name, bag, mask, is_changed):
            self.problems.append((annotation.name, OUTDATED))
            return
        self.corrected.append(name)
        self.actions += strokes
        if any(stroke.kind in ("set", "paint") for stroke in self.corrections.strokes.get(bag.digest, ())):
            self.covered.append(name)

    def _find_problem(self, annotation: Annotation, bag: BagRecord) -> str:
        if bag.name in self.corrected or bag.name in self.same:
            # The second would paint its background over the objects of the first.
            return "another entry of the file fits the same image and was taken; join them, or import two files"
        if bag.n_frames:
            return "it is a video; correct videos with `segvote review`"
        if not annotation.height:  # nothing was drawn, and the file has no size
            return ""
        return compare_sides(annotation.height, annotation.width, (bag.height, bag.width))

    def _is_known(self, strokes: list[Action]) -> bool:
        """Whether the last correction of the image is the same: the file was imported before."""
        drawn = [stroke for stroke in strokes if stroke.height]
        last = self.corrections.strokes.get(strokes[0].image, ())[-len(drawn) :]
        fields = attrgetter("kind", "value", "height", "width", "counts")
        return [*map(fields, last)] == [*map(fields, drawn)]

    def _is_outdated(self, name: str, bag: BagRecord, mask: np.ndarray, is_changed: bool) -> bool:
        """Whether the tool left a mask as it was exported, and the run went on since."""
        if not is_changed:
            return bag.digest in self.pending
        return hash_mask(mask) in self.exported.get(name, ())

    def _is_changed(self, name: str, mask: np.ndarray) -> bool:
        index = self.numbers[name]
        written = self.run.read_mask(index)
        if mask.shape == written.shape:
            return not np.array_equal(mask, written)
        labels = self.run.read_segments(index)["labels"]
        new, old = _measure_shares(mask, labels), _measure_shares(written, labels)
        return bool((((new > 0.5) != (old > 0.5)) & (np.abs(new - old) > SHARE)).any())


def _make_strokes(bag: BagRecord, mask: np.ndarray) -> list[Action]:
    """The actions of an imported mask: a *with* image is finished, a *without* image painted and accepted."""
    if bag.bag_label == WITH:
        return [make_mask_action("accept", bag, 1, mask)]
    painted = [make_mask_action("paint", bag, value, pixels) for value, pixels in ((0, ~mask), (1, mask))]
    return [*painted, Action("accept", bag.digest, bag.name, 1)]


def _list_known(names: Collection[str]) -> dict[str, str]:
    """Names as exports write them and importers read them, to those of the run; only where they are different."""
    both = [encode_names(names), encode_names(names, foldable=True)]  # without and with pictures beside them
    cleaned = {(clean_name(outside), name) for one in both for name, outside in one.items()}
    count = Counter(outside for outside, _ in cleaned)
    return {outside: name for outside, name in cleaned if count[outside] == 1}


def _choose_label(path: Path | str, label: str | None, own: str) -> str:
    labels = sorted({part.label for annotation in read_any(path) for part in annotation.parts})
    if label is not None:
        if label not in labels:
            raise BadInputError(f"{path}: no shape is called {label!r}; its labels are: {', '.join(labels) or 'none'}")
        return label
    if own in labels or not labels:
        return own
    if len(labels) > 1:
        raise BadInputError(f"{path} has the labels {', '.join(labels)}, none of them {own!r}; choose one with --label")
    return labels[0]


def _measure_shares(mask: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(n_segments,) share of each segment's pixels that lie in the mask."""
    flat = labels.ravel()
    inside = resize_labels(mask, labels.shape).ravel()
    return np.bincount(flat, weights=inside) / np.bincount(flat)
