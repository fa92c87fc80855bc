"""Import of masks that were corrected in another tool, as corrections of a run.

They are stored in the log of `segvote review` as painted pixels of object and background: every mask that is written
later equals the imported one. Segments that are covered almost completely get user labels.
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
from segvote.io.encodings.rle import encode_rle
from segvote.io.images import resize_labels
from segvote.io.imports import read_any
from segvote.io.imports.base import NameIndex, clean_name
from segvote.io.names import encode_names
from segvote.progress import Progress, count_along, ignore_progress
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.corrections import Corrections, read_corrections
from segvote.run.record import BagRecord
from segvote.run.run import Run
from segvote.types import Annotation

# A mask of another size than the image is a correction where its share of a segment differs by more than this.
SHARE = 0.1
# Tools resize pictures; a larger difference in the log ratio of the sides is another picture, or a rotated one.
RATIO = 0.02


@dataclass(frozen=True)
class Imported:
    """The result of an import, by names of images in the run."""

    corrected: tuple[str, ...]  # written as corrections
    same: tuple[str, ...]  # as in the run, or imported before: nothing to write
    problems: tuple[tuple[str, str], ...]  # name in the file and the reason why it was left out


def import_corrections(
    run: Run | Path | str,
    path: Path | str,
    *,
    label: str | None = None,
    confirm: bool = False,
    progress: Progress = ignore_progress,
) -> Imported:
    """Import the masks of a file that another tool wrote.

    A mask that differs from the run's is taken to the pixel, holes included. A mask of another size than the image
    differs if it decides a segment differently. Nothing is written before the whole file has been read, and one undo
    takes the whole file back.

    Parameters
    ----------
    run : Run, path or str
        A finished run, or its folder.
    path : path or str
        COCO, CVAT, Label Studio or labelme file, folder of labelme files, or ZIP with one of them.
    label : str, optional
        The class that counts; default: the run's, or the only one of the file.
    confirm : bool
        Accept images that are as in the run, too.
    progress : callable
        Called with step, done, total.
    """
    run = run if isinstance(run, Run) else Run(run)
    label = _choose_label(path, label, run.settings.label)
    reader = _Reader(run, label, confirm, read_corrections(run.folder))
    for annotation in count_along(read_any(path), "import", len(run), progress):
        reader.read(annotation)
    with closing(CorrectionLog(run.folder.corrections_path)) as log:
        # In one transaction: a second import would take half of an image's strokes for all of them.
        log.append(*reader.actions)
    return Imported(tuple(reader.corrected), tuple(reader.same), tuple(reader.problems))


class _Reader:
    """Compares annotations with the run and collects the actions to write."""

    def __init__(self, run: Run, label: str, confirm: bool, corrections: Corrections) -> None:
        self.run, self.label, self.confirm, self.corrections = run, label, confirm, corrections
        self.numbers = {bag.name: index for index, bag in enumerate(run.bags)}
        self.known = _list_known(self.numbers)
        self.index = NameIndex(self.known)
        self.actions: list[Action] = []
        self.corrected: list[str] = []
        self.same: list[str] = []
        self.problems: list[tuple[str, str]] = []

    def read(self, annotation: Annotation) -> None:
        name = self.known.get(self.index.match(annotation.name) or "")
        if name is None:
            self.problems.append((annotation.name, "it fits no image of the run, or several"))
            return
        bag = self.run.bags[self.numbers[name]]
        if problem := self._find_problem(annotation, bag):
            self.problems.append((annotation.name, problem))
            return
        mask = np.zeros((annotation.height or bag.height, annotation.width or bag.width), dtype=bool)
        for part in annotation.parts:
            if part.label == self.label:
                mask |= part.mask
        strokes = [
            Action("paint", bag.digest, name, value, *mask.shape, str(encode_rle(pixels)["counts"]))
            for value, pixels in ((0, ~mask), (1, mask))
        ]
        if self._is_known(strokes) or not (self.confirm or self._is_changed(name, mask)):
            self.same.append(name)
            return
        self.corrected.append(name)
        self.actions += [*strokes, Action("look", bag.digest, name, 1)]

    def _find_problem(self, annotation: Annotation, bag: BagRecord) -> str:
        if bag.name in self.corrected or bag.name in self.same:
            # The second would paint its background over the objects of the first.
            return "another entry of the file fits the same image and was taken; join them, or import two files"
        if bag.n_frames:
            return "it is a video; correct videos with `segvote review`"
        if not annotation.height:  # nothing was drawn, and the file has no size
            return ""
        ratio = annotation.width * bag.height / (annotation.height * bag.width)
        if abs(np.log(ratio)) > RATIO:
            sizes = f"{annotation.width} x {annotation.height} there, {bag.width} x {bag.height} here"
            return f"its sides differ ({sizes}); is it turned, or another picture?"
        return ""

    def _is_known(self, strokes: list[Action]) -> bool:
        """Whether the last correction of the image is the same: the file was imported before."""
        last = self.corrections.strokes.get(strokes[0].image, [])[-len(strokes) :]
        fields = attrgetter("kind", "value", "height", "width", "counts")
        return [*map(fields, last)] == [*map(fields, strokes)]

    def _is_changed(self, name: str, mask: np.ndarray) -> bool:
        index = self.numbers[name]
        written = self.run.read_mask(index)
        if mask.shape == written.shape:
            return not np.array_equal(mask, written)
        labels = self.run.read_segments(index)["labels"]
        new, old = _measure_shares(mask, labels), _measure_shares(written, labels)
        return bool((((new > 0.5) != (old > 0.5)) & (np.abs(new - old) > SHARE)).any())


def _list_known(names: Collection[str]) -> dict[str, str]:
    """Names as exports write them and importers read them, to those of the run; only where they are different."""
    both = [encode_names(names), encode_names(names, foldable=True)]  # without and with pictures beside them
    cleaned = {(clean_name(outside), name) for one in both for name, outside in one.items()}
    count = Counter(outside for outside, _ in cleaned)
    return {outside: name for outside, name in cleaned if count[outside] == 1}


def _choose_label(path: Path | str, label: str | None, own: str) -> str:
    found = sorted({part.label for annotation in read_any(path) for part in annotation.parts})
    if label is not None:
        if label not in found:
            raise BadInputError(f"{path}: no shape is called {label!r}; its labels are: {', '.join(found) or 'none'}")
        return label
    if own in found or not found:
        return own
    if len(found) > 1:
        raise BadInputError(f"{path} has the labels {', '.join(found)}, none of them {own!r}; choose one with --label")
    return found[0]


def _measure_shares(mask: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(n_segments,) share of each segment's pixels that lie in the mask."""
    flat = labels.ravel()
    inside = resize_labels(mask, labels.shape).ravel()  # type: ignore[arg-type]
    return np.bincount(flat, weights=inside) / np.bincount(flat)
