"""The folder doctor: images that are likely mislabelled, near-duplicates, files that cannot be read.

How much an image shows the object is judged by other images only: the votes of its own bag are left out. An image
of *with* in which nothing stands out, or an image of *without* in which something does, is likely mislabelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from segvote.errors import UnreadableImageError
from segvote.features import FeatureExtractor
from segvote.inputs.bags import Bag, Problem, list_all_bags
from segvote.io.files import open_scratch
from segvote.io.images import read_image
from segvote.io.names import make_plain
from segvote.method.confidence import Confidence
from segvote.method.mislabelled import LIKELY
from segvote.pipeline.base_vote import BaseVote
from segvote.pipeline.corrected_vote import RunVote, vote
from segvote.pipeline.looks import choose_look, list_looks
from segvote.pipeline.opening import open_folder, reopen
from segvote.pipeline.prepare import check_names, extract_bags, keep_good, keep_readable
from segvote.pipeline.sample import list_left_out
from segvote.pipeline.vote import hold_vote
from segvote.pipeline.workers import Resources
from segvote.progress import Progress, count_along, ignore_progress
from segvote.run.advice import describe_confidence
from segvote.run.corrections import Corrections
from segvote.run.run import Run, format_confidence
from segvote.run.run_folder import RunFolder
from segvote.settings import Settings
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
        return {"n_images": len(images), "images": images, "confidence": describe_confidence(self.confidence)}


def diagnose_folders(
    with_folder: Path | str,
    without_folder: Path | str,
    settings: Settings = Settings(),
    resources: Resources = Resources(),
) -> Diagnosis:
    """Examine two folders of images; no file is left behind."""
    looks = [(look, check_names(look)) for look in list_looks(settings)]
    bags = list_all_bags(Path(with_folder), Path(without_folder), settings)
    with open_scratch() as folder:
        run = RunFolder(folder)
        segmented = extract_bags(run, bags, *looks[0], resources)
        duplicates = find_duplicates([one for one in segmented if not one.problem], resources.progress)
        # An image in both folders is evidence for neither.
        shared = {bag.name for pair in duplicates if pair.exact and pair.across for bag in (pair.one, pair.other)}
        good = [bag for bag in keep_good(segmented) if bag.name not in shared]
        left_out = shared | list_left_out(run, good, looks[0][1], looks[0][0])
        voting = [bag for bag in bags if bag.name not in left_out]
        # The same looks as `annotate`, so that both have the same confidence in the same folders.
        base, good = choose_look(looks, partial(_look, run, voting, resources))
    problems = [Problem(one.name, one.problem) for one in segmented if one.problem]
    return _list_flagged(good, base, problems, duplicates)


def _look(
    run: RunFolder, bags: Sequence[Bag], resources: Resources, look: Settings, extractor: FeatureExtractor
) -> tuple[BaseVote, list[Bag]]:
    """The vote of `annotate` at one look, and the bags that took part."""
    good = keep_readable(extract_bags(run, bags, look, extractor, resources), strict=False)
    inputs = open_folder(run, look, extractor, good, Corrections(), resources=resources)
    return hold_vote(inputs.table, look), good


def diagnose_run(
    run: Run, run_vote: RunVote | None = None, duplicates: Sequence[NearDuplicate] | None = None
) -> Diagnosis:
    """Examine the images of a finished run, with bag labels changed by the user."""
    run_vote = run_vote or vote(reopen(run))
    bags = run_vote.inputs.bags
    duplicates = find_duplicates(bags) if duplicates is None else duplicates
    return _list_flagged(bags, run_vote.base, run.record.problems, duplicates)


def _list_flagged(
    bags: Sequence[Bag], base: BaseVote, problems: Sequence[Problem], duplicates: Sequence[NearDuplicate]
) -> Diagnosis:
    """One entry per image, by its gravest fault."""
    suspicions = base.table.average_by_bag(base.suspicion)
    flagged = {bag.name: _flag_vote(bag, float(value)) for bag, value in zip(bags, suspicions, strict=True)}
    for problem in problems:
        if problem.name not in flagged:
            bag_label = problem.name.split("/", 1)[0]
            flagged[problem.name] = FlaggedImage(problem.name, bag_label, "unreadable", 2.0, problem.reason)
    for pair in duplicates:
        for bag, other in ((pair.one, pair.other), (pair.other, pair.one)):
            duplicate = _flag_duplicate(bag, other.name, pair)
            if bag.name not in flagged or duplicate.suspicion > flagged[bag.name].suspicion:
                flagged[bag.name] = duplicate
    return Diagnosis(sorted(flagged.values(), key=lambda one: (-one.suspicion, one.name)), base.confidence)


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
    return "\n".join(filter(None, [*lines, format_confidence(describe_confidence(diagnosis.confidence))]))


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
