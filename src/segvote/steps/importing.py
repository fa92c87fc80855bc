"""Masks that were corrected in another tool, back into the run as corrections: pixels of object and background.

They go into the same log as the strokes of `segvote review`, and are kept to the pixel: every mask that is written from
then on is the imported one. Segments that they cover nearly whole get user labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
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
from segvote.run.run import Run
from segvote.types import Annotation

# In a mask of another size than the image, by how much its share of a segment must differ to be a correction.
SHARE = 0.1
# Tools resize pictures; more than this much in the ratio of the sides is another picture, or one that was turned.
RATIO = 0.02


@dataclass(frozen=True)
class Imported:
    """The result of an import, by names of images in the run.

    Attributes
    ----------
    corrected
        Written as corrections.
    same
        As in the run, or imported before: nothing to write.
    problems
        Name in the file and the reason why it was left out.
    """

    corrected: tuple[str, ...]
    same: tuple[str, ...]
    problems: tuple[tuple[str, str], ...]


def import_corrections(
    run: Run | Path | str,
    path: Path | str,
    *,
    label: str | None = None,
    confirm: bool = False,
    progress: Progress = ignore_progress,
) -> Imported:
    """Take over the masks of a file that another tool wrote.

    An image whose mask differs from the run's is a correction as a whole: the mask is taken to the pixel, holes
    included. A mask of another size than the image differs where it decides some segment otherwise. Nothing is written
    before the whole file has been read, and one undo takes the whole file back.

    Parameters
    ----------
    run
        A finished run, or its folder.
    path
        COCO, CVAT, Label Studio or labelme file, folder of labelme files, or ZIP with one of them.
    label
        The class that counts; default: the run's, or the only one of the file.
    confirm
        Accept images that are as in the run, too.
    progress
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
        self.seen: set[str] = set()
        self.actions: list[Action] = []
        self.corrected: list[str] = []
        self.same: list[str] = []
        self.problems: list[tuple[str, str]] = []

    def read(self, annotation: Annotation) -> None:
        name = self.known.get(self.index.match(annotation.name) or "")
        problem = self._find_problem(annotation, name)
        if problem or name is None:
            self.problems.append((annotation.name, problem))
            return
        self.seen.add(name)
        mask = self._draw(annotation, name)
        strokes = self._make_strokes(name, mask)
        if self._is_known(strokes) or not (self.confirm or self._is_changed(name, mask)):
            self.same.append(name)
            return
        self.corrected.append(name)
        self.actions += [*strokes, Action("look", strokes[0].image, name, 1)]

    def _find_problem(self, annotation: Annotation, name: str | None) -> str:
        if name is None:
            return "it fits no image of the run, or several"
        if name in self.seen:  # the second would paint its background over the objects of the first
            return "another entry of the file fits the same image and was taken; join them, or import two files"
        bag = self.run.bags[self.numbers[name]]
        if bag.n_frames:
            return "it is a video; correct videos with `segvote review`"
        if not annotation.height:  # nothing was drawn, and the file has no size
            return ""
        ratio = annotation.width * bag.height / (annotation.height * bag.width)
        if abs(np.log(ratio)) > RATIO:
            sizes = f"{annotation.width} x {annotation.height} there, {bag.width} x {bag.height} here"
            return f"its sides differ ({sizes}); is it turned, or another picture?"
        return ""

    def _draw(self, annotation: Annotation, name: str) -> np.ndarray:
        bag = self.run.bags[self.numbers[name]]
        mask = np.zeros((annotation.height or bag.height, annotation.width or bag.width), dtype=bool)
        for part in annotation.parts:
            if part.label == self.label:
                mask |= part.mask
        return mask

    def _make_strokes(self, name: str, mask: np.ndarray) -> list[Action]:
        digest = self.run.bags[self.numbers[name]].digest
        height, width = mask.shape
        return [
            Action("paint", digest, name, value, height, width, str(encode_rle(pixels)["counts"]))
            for value, pixels in ((0, ~mask), (1, mask))
        ]

    def _is_known(self, strokes: list[Action]) -> bool:
        """The last correction of the image is the same: the file was imported before."""
        last = self.corrections.strokes.get(strokes[0].image, [])[-len(strokes) :]
        return [_describe(one) for one in last] == [_describe(one) for one in strokes]

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


def _describe(stroke: Action) -> tuple[str, int, int, int, str]:
    return stroke.kind, stroke.value, stroke.height, stroke.width, stroke.counts


def _choose_label(path: Path | str, label: str | None, own: str) -> str:
    found = sorted(_list_labels(path))
    if label is not None:
        if label not in found:
            raise BadInputError(f"{path}: no shape is called {label!r}; its labels are: {', '.join(found) or 'none'}")
        return label
    if own in found or not found:
        return own
    if len(found) > 1:
        raise BadInputError(f"{path} has the labels {', '.join(found)}, none of them {own!r}; choose one with --label")
    return found[0]


def _list_labels(path: Path | str) -> set[str]:
    return {part.label for annotation in read_any(path) for part in annotation.parts}


def _measure_shares(mask: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(n_segments,) share of each segment's pixels that lie in the mask."""
    flat = labels.ravel()
    inside = resize_labels(mask, labels.shape).ravel()  # type: ignore[arg-type]
    return np.bincount(flat, weights=inside) / np.bincount(flat)
