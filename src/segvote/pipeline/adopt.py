"""Corrections whose picture has another content than when they were made.

The log names pictures by the hash of their file. A file saved again by another program has another hash: its
corrections are adopted by the picture of the same name and proportions, or else by the one with the same segments. One
action of the log says so, and every reader of the log follows it. Corrections that no picture adopts are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np

from segvote.errors import DamagedFileError
from segvote.inputs.bags import Bag, Problem
from segvote.io.arrays import read_arrays
from segvote.io.names import encode_name
from segvote.pipeline.extract import make_segments_key
from segvote.run.correction_log import Action, CorrectionLog, read_actions
from segvote.run.corrections import Corrections, move_bags, read_corrections, replay
from segvote.run.run_folder import RunFolder
from segvote.settings import Settings

# Largest difference in the log ratio of the sides: a larger one is another picture, or a rotated one.
RATIO = 0.02
# End of the reason of a problem with corrections that no picture adopts.
UNAPPLIED = "they apply again when the picture is back"


def prepare_corrections(
    run: RunFolder, bags: Sequence[Bag], settings: Settings, segment: Callable[[Sequence[Bag]], Sequence[Bag]]
) -> tuple[list[Bag], Corrections]:
    """The bags of a run with their current bag labels, and its corrections.

    Corrections of changed pictures are adopted first, by the bags with their segments, which `segment` makes.
    """
    corrections = read_corrections(run)
    if list_orphans(corrections, bags):
        corrections = adopt_corrections(run, segment(move_bags(bags, corrections)), settings)
    return move_bags(bags, corrections), corrections


def list_orphans(corrections: Corrections, bags: Iterable[Bag]) -> list[str]:
    """Digests of the images with corrections that are not among the bags."""
    known = {bag.digest for bag in bags}
    return [digest for digest in corrections.list_images() if digest not in known]


def adopt_corrections(run: RunFolder, bags: Sequence[Bag], settings: Settings) -> Corrections:
    """Write to the log which segmented bags adopt corrections of a changed file; returns the corrections."""
    actions = read_actions(run.corrections_path)
    corrections = replay(actions)
    names = _list_names(actions)
    adoptions = [
        Action("adopt", bag.digest, bag.name, counts=digest)
        for digest in list_orphans(corrections, bags)
        if (bag := _find_bag(run, digest, names[digest], bags, corrections, settings)) is not None
    ]
    if not adoptions:
        return corrections
    with closing(CorrectionLog(run.corrections_path)) as log:
        log.append(*adoptions)
        return replay(log.read())


def list_unapplied(run: RunFolder, corrections: Corrections, bags: Sequence[Bag]) -> list[Problem]:
    """Pictures of which corrections are kept but cannot be applied, as problems of the run."""
    orphans = list_orphans(corrections, bags)
    names = _list_names(read_actions(run.corrections_path)) if orphans else {}
    reason = "{}: {} corrections are kept, but there is no picture of this name with their proportions; {}"
    return [
        Problem(names[one], reason.format(names[one], corrections.count_actions(one), UNAPPLIED)) for one in orphans
    ]


def _list_names(actions: Iterable[Action]) -> dict[str, str]:
    return {action.image: action.name for action in actions if action.image}


def _find_bag(
    run: RunFolder, digest: str, name: str, bags: Sequence[Bag], corrections: Corrections, settings: Settings
) -> Bag | None:
    """The bag with the name of a picture; where there is none, the one with its segments."""
    readable = [bag for bag in bags if not bag.problem]
    for bag in readable:
        if encode_name(bag.name) == name:
            return bag if _has_proportions(bag, corrections.strokes.get(digest, ())) else None
    return next((bag for bag in readable if _has_same_segments(run, bag, digest, settings)), None)


def _has_proportions(bag: Bag, strokes: Sequence[Action]) -> bool:
    ratios = [stroke.width * bag.height / (stroke.height * bag.width) for stroke in strokes if stroke.height]
    # The grid of a stroke may be that of the segments, whose sides are rounded to a pixel.
    return all(abs(np.log(ratio)) <= RATIO for ratio in ratios)


def _has_same_segments(run: RunFolder, bag: Bag, digest: str, settings: Settings) -> bool:
    """Whether the segments of a bag, with their contrasts, are those of the picture with a digest."""
    if bag.n_frames:
        return False
    earlier = run.segments_path(make_segments_key(replace(bag, digest=digest), settings))
    try:
        one, other = read_arrays(earlier), read_arrays(run.segments_path(bag.segments_key))
    except DamagedFileError:
        return False
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)
