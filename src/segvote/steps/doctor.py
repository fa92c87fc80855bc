"""The folder doctor: images that are likely mislabelled, near-duplicates, files that cannot be read.

How much an image shows the object is judged by other images only: the votes of its own bag are left out. An image
of *with* in which nothing stands out, or an image of *without* in which something does, is likely mislabelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from segvote.errors import UnreadableImageError
from segvote.io.files import open_scratch
from segvote.io.images import read_image
from segvote.method.confidence import Confidence
from segvote.method.held_out import LIKELY
from segvote.plain_text import make_plain
from segvote.progress import Progress, count_along, ignore_progress
from segvote.run.bags import Bag, list_all_bags
from segvote.run.record import Problem
from segvote.run.run import Run, format_confidence
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings
from segvote.steps.prepare import check_names, extract_bags, keep_readable
from segvote.steps.reopening import Voted, reopen, vote
from segvote.steps.table import gather_table
from segvote.steps.vote import Held, hold_vote
from segvote.steps.workers import N_JOBS, Resources
from segvote.types import WITH

GRID = 11  # differences of neighbouring cells along each side of the small version
# Bits, of 242: recompressing and resizing change far fewer, other pictures differ in about 90 and more.
MAX_DIFFERENT = 12


@dataclass(frozen=True)
class FlaggedImage:
    """An image and why it should be looked at."""

    name: str
    bag_label: str  # folder it lies in
    kind: str  # the fault in a few words
    # Higher is worse. By the vote in [0, 1]; from one half on the image is more like the other folder.
    suspicion: float
    reason: str
    other: str = ""  # name of the image it equals, or empty


@dataclass(frozen=True)
class NearDuplicate:
    """Two images that are the same: `exact` to the byte, otherwise to the eye."""

    one: Bag
    other: Bag
    exact: bool

    @property
    def across(self) -> bool:
        """Whether they lie in different folders."""
        return self.one.bag_label != self.other.bag_label


@dataclass(frozen=True)
class Diagnosis:
    """Every image of the two folders, the one most likely mislabelled first; and how far to trust a vote on them."""

    images: list[FlaggedImage]
    confidence: Confidence

    def list_serious(self) -> list[FlaggedImage]:
        """Images that you should look at."""
        return [one for one in self.images if one.suspicion >= LIKELY]

    def to_dict(self) -> dict[str, Any]:
        images = [asdict(one) for one in self.images]
        return {"n_images": len(images), "images": images, "confidence": self.confidence.to_dict()}


def diagnose_folders(
    with_folder: Path | str,
    without_folder: Path | str,
    settings: Settings | None = None,
    n_jobs: int = N_JOBS,
    progress: Progress = ignore_progress,
) -> Diagnosis:
    """Examine two folders of images; no file is left behind."""
    settings = settings or Settings()
    extractor = check_names(settings)
    bags = list_all_bags(Path(with_folder), Path(without_folder), settings)
    with open_scratch() as folder:
        run = RunFolder(folder)
        segmented = extract_bags(run, bags, settings, extractor, Resources(n_jobs, progress=progress))
        duplicates = find_duplicates([one for one in segmented if not one.problem], progress)
        # An image in both folders is evidence for neither.
        shared = {bag.name for pair in duplicates if pair.exact and pair.across for bag in (pair.one, pair.other)}
        voting = keep_readable([one for one in segmented if one.name not in shared], strict=False)
        table, _ = gather_table(run, voting, extractor, settings)
    problems = [Problem(one.name, one.problem) for one in segmented if one.problem]
    return _list_flagged(voting, hold_vote(table, settings), problems, duplicates)


def diagnose_run(run: Run, voted: Voted | None = None, duplicates: Sequence[NearDuplicate] | None = None) -> Diagnosis:
    """Examine the images of a finished run, with bag labels changed by the user."""
    voted = voted or vote(reopen(run))
    bags = voted.opened.bags
    duplicates = find_duplicates(bags) if duplicates is None else duplicates
    return _list_flagged(bags, voted.held, run.record.problems, duplicates)


def _list_flagged(
    bags: Sequence[Bag], held: Held, problems: Sequence[Problem], duplicates: Sequence[NearDuplicate]
) -> Diagnosis:
    """One entry per image, by its gravest fault."""
    suspicions = held.vote.table.average_by_bag(held.vote.suspicion)
    found = {one.name: _flag_vote(one, float(value)) for one, value in zip(bags, suspicions, strict=True)}
    for problem in problems:
        if problem.name not in found:
            bag_label = problem.name.split("/", 1)[0]
            found[problem.name] = FlaggedImage(problem.name, bag_label, "unreadable", 2.0, problem.reason)
    for pair in duplicates:
        for bag, other in ((pair.one, pair.other), (pair.other, pair.one)):
            flagged = _flag_duplicate(bag, other.name, pair)
            if bag.name not in found or flagged.suspicion > found[bag.name].suspicion:
                found[bag.name] = flagged
    return Diagnosis(sorted(found.values(), key=lambda one: (-one.suspicion, one.name)), held.confidence)


def _flag_vote(bag: Bag, suspicion: float) -> FlaggedImage:
    kind = "nothing stands out" if bag.bag_label == WITH else "looks as if it shows the object"
    sure = "more like the other folder" if suspicion >= 0.5 else "like its own folder"
    reason = f"judged by the other images it is {sure} ({100 * suspicion:.0f} %)"
    return FlaggedImage(bag.name, bag.bag_label, kind, suspicion, reason)


def _flag_duplicate(bag: Bag, other: str, pair: NearDuplicate) -> FlaggedImage:
    if pair.exact:
        kind, suspicion = ("same image in both folders", 1.9) if pair.across else ("same image twice", 0.7)
        return FlaggedImage(bag.name, bag.bag_label, kind, suspicion, f"has the same content as {other}", other)
    suspicion, reason = 0.9 if pair.across else 0.65, f"looks nearly the same as {other}"
    return FlaggedImage(bag.name, bag.bag_label, "nearly the same image", suspicion, reason, other)


def format_diagnosis(diagnosis: Diagnosis, n_lines: int = 20) -> str:
    """The first of the list as text."""
    serious, n_images = diagnosis.list_serious(), len(diagnosis.images)
    lines = [f"{n_images} images, none of them likely mislabelled"]
    if serious:
        lines = [f"{len(serious)} of {n_images} images should be looked at:"]
    for flagged in serious[:n_lines]:
        text = make_plain(f"{flagged.name}: {flagged.kind}; {flagged.reason}")
        lines.append(f"  {min(flagged.suspicion, 1):5.2f}  {text}")
    if len(serious) > n_lines:
        lines.append(f"  … and {len(serious) - n_lines} more (--json lists all)")
    return "\n".join(filter(None, [*lines, format_confidence(diagnosis.confidence.to_dict())]))


def find_duplicates(bags: Sequence[Bag], progress: Progress = ignore_progress) -> list[NearDuplicate]:
    """Pairs of equal images among bags, each image with the first it equals."""
    kept, duplicates = list[Bag](), list[NearDuplicate]()
    hashes = np.empty((len(bags), 2 * GRID**2), dtype=bool)
    for bag in count_along(bags, "look for duplicates", len(bags), progress):
        index = len(kept)
        try:
            hashes[index] = hash_picture(read_image(bag.path))
        except UnreadableImageError:
            continue
        near = np.flatnonzero((hashes[:index] != hashes[index]).sum(axis=1) <= MAX_DIFFERENT)
        pairs = [NearDuplicate(kept[i], bag, kept[i].digest == bag.digest) for i in near]
        # An exact duplicate before a near one, one in the other folder before one in its own.
        duplicates += sorted(pairs, key=lambda pair: (not pair.exact, not pair.across))[:1]
        kept.append(bag)
    return duplicates


def hash_picture(image: np.ndarray) -> np.ndarray:
    """(h, w, 3) uint8 to (242,) bool: signs of the differences between neighbouring cells.

    A plain picture, whose differences are noise, has all bits False.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    small = cv2.resize(grey, (GRID + 1, GRID + 1), interpolation=cv2.INTER_AREA).astype(np.int16)
    right = small[:-1, 1:] - small[:-1, :-1] > 1
    down = small[1:, :-1] - small[:-1, :-1] > 1
    return np.concatenate([right.ravel(), down.ravel()])
