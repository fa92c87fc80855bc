"""The folder doctor: images that are likely mislabelled, near-duplicates, files that cannot be read.

How much an image shows the object is judged by other images only: the votes of its own bag are left out. An image
of *with* in which nothing stands out, or an image of *without* in which something does, is likely mislabelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from segvote.errors import BadInputError, UnreadableImageError
from segvote.features import make_features
from segvote.io.files import open_scratch
from segvote.io.images import read_image
from segvote.io.stores import name_path_or_uri
from segvote.method.confidence import Confidence
from segvote.method.held_out import LIKELY
from segvote.plain_text import make_plain
from segvote.progress import Progress, count_along, ignore_progress
from segvote.run.bags import Bag, SegmentedImage, list_all_bags
from segvote.run.record import Inputs, make_record
from segvote.run.run import Run, format_confidence
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings
from segvote.steps.extract import BagExtractor
from segvote.steps.prepare import extract_bags
from segvote.steps.reopening import Voted, reopen, vote
from segvote.steps.table import gather_table
from segvote.steps.vote import hold_vote
from segvote.steps.workers import N_JOBS, Resources
from segvote.types import WITH, WITHOUT

UNREADABLE, SAME_OTHER, SAME, NEAR, NOTHING, LOOKS_LIKE = (
    "unreadable",
    "same image in both folders",
    "same image twice",
    "nearly the same image",
    "nothing stands out",
    "looks as if it shows the object",
)
# Suspicions of what needs no vote; those of the vote lie in [0, 1], and one half is as like one folder as the other.
CERTAIN = {UNREADABLE: 2.0, SAME_OTHER: 1.9}
# From here on the user should look.
SERIOUS = LIKELY
GRID = 11  # cells of the small version, and one more for the differences
# Of 242 bits: what recompressing and resizing change stays far below, other pictures lie at about 90 and more.
MAX_DIFFERENT = 12


@dataclass(frozen=True)
class FlaggedImage:
    """An image and why it should be looked at."""

    name: str
    bag_label: str  # where it is filed
    kind: str  # what is wrong with it, in a few words
    suspicion: float  # higher is worse; from one half on it is more like the other folder than like its own
    reason: str  # a sentence for people
    other: str = ""  # name of the image it equals, or empty


@dataclass(frozen=True)
class Diagnosis:
    """Every image of the two folders, the one most likely mislabelled first; and how far to trust a vote on them."""

    images: list[FlaggedImage] = field(default_factory=list)
    confidence: Confidence | None = None

    def list_serious(self) -> list[FlaggedImage]:
        """Those the user should look at."""
        return [one for one in self.images if one.suspicion >= SERIOUS]

    def to_dict(self) -> dict[str, Any]:
        return {
            "n_images": len({one.name for one in self.images}),
            "images": [asdict(one) for one in self.images],
            **({"confidence": self.confidence.to_dict()} if self.confidence else {}),
        }


def diagnose_folders(
    with_folder: Path | str,
    without_folder: Path | str,
    out: Path | str | None = None,
    settings: Settings | None = None,
    n_jobs: int = N_JOBS,
    progress: Progress = ignore_progress,
) -> Diagnosis:
    """Examine two folders of images.

    Segments and features are kept in the run folder `out`, for `annotate` to use; None: nothing is kept.
    """
    if out is None:
        with open_scratch() as folder:
            return diagnose_folders(with_folder, without_folder, folder, settings, n_jobs, progress)
    settings = settings or Settings()
    folders = {WITH: Path(with_folder), WITHOUT: Path(without_folder)}
    run, bags = RunFolder(out), list_all_bags(folders[WITH], folders[WITHOUT], settings)
    extractor = make_features(settings.features, **settings.feature_options)
    if extractor.needs_fit:
        raise BadInputError(f"the doctor wants features that need no codebook; got {settings.features}, try lite0")
    run.is_claimed(run.record_path, "not a run folder")  # refuses a folder of something else, as `annotate` does
    with run.lock():
        _claim(run, folders, settings)
        segmented = extract_bags(BagExtractor(run, settings, extractor), bags, Resources(n_jobs, progress=progress))
    good = [one for one in segmented if not one.problem]
    duplicates = find_duplicates([one.bag for one in good], progress)
    # An image that is in both folders says nothing about either.
    shared = {name for pair in duplicates if pair.exact and pair.across for name in (pair.one.name, pair.other.name)}
    voting = [one for one in good if one.bag.name not in shared]
    _check_both(voting)
    table, _ = gather_table(run, voting, extractor, settings)
    held = hold_vote(table, settings)
    suspicions = table.average_by_bag(held.vote.suspicion)
    named = {one.bag.name: value for one, value in zip(voting, suspicions, strict=True)}
    return Diagnosis(list_flagged(segmented, named, duplicates), held.confidence)


def _claim(run: RunFolder, folders: dict[str, Path], settings: Settings) -> None:
    inputs = Inputs(name_path_or_uri(folders[WITH]), name_path_or_uri(folders[WITHOUT]))
    if not run.record_path.exists():
        run.write_record(make_record(inputs, settings, ""))
    elif run.read_record().inputs != inputs:
        raise BadInputError(
            f"{run.path} belongs to a run on other folders; choose another -o, or give only that folder"
        )


def _check_both(voting: Sequence[SegmentedImage]) -> None:
    for bag_label in (WITH, WITHOUT):
        if not any(one.bag.bag_label == bag_label for one in voting):
            raise BadInputError(
                f"no image of *{bag_label}* is left that can be read and is in one folder only; add some"
            )


def diagnose_run(run: Run, voted: Voted | None = None, duplicates: Sequence[NearDuplicate] | None = None) -> Diagnosis:
    """Examine the images of a finished run, with the bag labels that the user gave them since."""
    voted = voted or vote(reopen(run))
    bags = voted.opened.bags
    duplicates = find_duplicates([one.bag for one in bags]) if duplicates is None else duplicates
    suspicions = voted.opened.table.average_by_bag(voted.held.vote.suspicion)
    named = {one.bag.name: value for one, value in zip(bags, suspicions, strict=True)}
    problems = [
        SegmentedImage(Bag(entry.name, entry.name.split("/", 1)[0], Path(), ""), problem=entry.reason)
        for entry in run.record.problems
    ]
    return Diagnosis(list_flagged([*bags, *problems], named, duplicates), voted.held.confidence)


def list_flagged(
    bags: Sequence[SegmentedImage], suspicions: dict[str, float], duplicates: Sequence[NearDuplicate]
) -> list[FlaggedImage]:
    """One line per image, the one most likely mislabelled first; an image with several faults keeps the gravest."""
    found: dict[str, FlaggedImage] = {}
    for one in bags:
        name, bag_label = one.bag.name, one.bag.bag_label
        if one.problem:
            found[name] = FlaggedImage(name, bag_label, UNREADABLE, CERTAIN[UNREADABLE], one.problem)
        elif name in suspicions:
            found[name] = _flag_vote(name, bag_label, float(suspicions[name]))
    for pair in duplicates:
        for bag, other in ((pair.one, pair.other), (pair.other, pair.one)):
            flagged = _flag_duplicate(bag, other.name, pair)
            if bag.name not in found or flagged.suspicion > found[bag.name].suspicion:
                found[bag.name] = flagged
    return sorted(found.values(), key=lambda one: (-one.suspicion, one.name))


def _flag_vote(name: str, bag_label: str, suspicion: float) -> FlaggedImage:
    kind = NOTHING if bag_label == WITH else LOOKS_LIKE
    sure = "more like the other folder" if suspicion >= 0.5 else "like its own folder"
    reason = f"judged by the other images it is {sure} ({100 * suspicion:.0f} %)"
    return FlaggedImage(name, bag_label, kind, suspicion, reason)


def _flag_duplicate(bag: Bag, other: str, pair: NearDuplicate) -> FlaggedImage:
    kind = NEAR if not pair.exact else SAME_OTHER if pair.across else SAME
    suspicion = CERTAIN[SAME_OTHER] if kind == SAME_OTHER else 0.9 if pair.across else 0.7 if pair.exact else 0.65
    what = "has the same content as" if pair.exact else "looks nearly the same as"
    return FlaggedImage(bag.name, bag.bag_label, kind, suspicion, f"{what} {other}", other)


def format_diagnosis(diagnosis: Diagnosis, n_lines: int = 20) -> str:
    """The first of the list as text."""
    serious = diagnosis.list_serious()
    confidence = filter(None, [format_confidence(diagnosis.confidence.to_dict()) if diagnosis.confidence else ""])
    if not serious:
        return "\n".join([f"{len(diagnosis.images)} images, none of them likely mislabelled", *confidence])
    lines = [f"{len(serious)} of {len(diagnosis.images)} images should be looked at:"]
    for flagged in serious[:n_lines]:
        text = make_plain(f"{flagged.name}: {flagged.kind}; {flagged.reason}")
        lines.append(f"  {min(flagged.suspicion, 1):5.2f}  {text}")
    if len(serious) > n_lines:
        lines.append(f"  … and {len(serious) - n_lines} more (--json lists all)")
    return "\n".join([*lines, *confidence])


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


def find_duplicates(bags: Sequence[Bag], progress: Progress = ignore_progress) -> list[NearDuplicate]:
    """Pairs of equal images among bags, each image with the first it equals."""
    hashes, kept = [], []
    for bag in count_along(bags, "look for duplicates", len(bags), progress):
        try:
            hashes.append(hash_picture(read_image(bag.path)))
        except UnreadableImageError:
            continue
        kept.append(bag)
    if not kept:
        return []
    bits = np.array(hashes)
    duplicates = []
    for index in range(1, len(kept)):
        different = (bits[:index] != bits[index]).sum(axis=1)
        exact = np.array([bag.digest == kept[index].digest for bag in kept[:index]])
        near = np.flatnonzero(exact | (different <= MAX_DIFFERENT))
        if len(near):
            # An exact duplicate before a near one, one in the other folder before one in its own.
            best = min(near, key=lambda i: (not exact[i], kept[i].bag_label == kept[index].bag_label, i))
            duplicates.append(NearDuplicate(kept[best], kept[index], bool(exact[best])))
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
