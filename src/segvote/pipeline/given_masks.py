"""Masks that the user has for some of the *with* images: finished images of a run before its first vote.

They are stored in the log of `segvote review` as accepted masks, so that they can be corrected and taken back there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from segvote.errors import BadInputError, SegvoteError
from segvote.inputs.bags import Bag, Problem
from segvote.io.encodings.rle import encode_rle
from segvote.io.images import read_image_size
from segvote.io.masks import OBJECT
from segvote.run.correction_log import Action, CorrectionLog, read_actions
from segvote.run.record import BagRecord
from segvote.run.run_folder import RunFolder
from segvote.types import WITH

# Tools resize pictures; a larger difference in the log ratio of the sides is another picture, or a rotated one.
RATIO = 0.02
# Name of a problem with a mask: this and the name of the mask.
MASKS = "masks/"


class MaskFile(Protocol):
    """A mask that was read."""

    @property
    def mask(self) -> np.ndarray | None:
        """(h, w) uint8, 255 object; None where only boxes are known."""


MaskReader = Callable[[], MaskFile]


@dataclass(frozen=True)
class GivenMasks:
    """Masks by their names, and the one of an image by the name of its bag."""

    readers: Mapping[str, MaskReader]
    find: Callable[[str], MaskReader | None]


def compare_sides(height: int, width: int, image_size: tuple[int, int]) -> str:
    """The problem with a mask of this size on an image (height, width); empty where their sides have the same ratio."""
    ratio = width * image_size[0] / (height * image_size[1])
    if abs(np.log(ratio)) <= RATIO:
        return ""
    sizes = f"{width} x {height} there, {image_size[1]} x {image_size[0]} here"
    return f"its sides differ ({sizes}); is it turned, or another picture?"


def append_masks(run: RunFolder, bags: Sequence[Bag], masks: GivenMasks) -> list[Problem]:
    """Append masks to the log of a run that it never held before; returns those that were left out, with reasons."""
    readers = {bag.name: reader for bag in bags if (reader := masks.find(bag.name)) is not None}
    names = {id(reader): name for name, reader in masks.readers.items()}
    problems, actions = _list_unknown(masks, readers.values()), []
    for bag in bags:
        if bag.name in readers and not bag.problem:
            try:
                actions.append(_make_action(bag, readers[bag.name]))
            except (SegvoteError, OSError) as error:
                name = names[id(readers[bag.name])]
                problems.append(Problem(f"{MASKS}{name}", f"mask {name}: {error}"))
    known = {_identify(one) for one in read_actions(run.corrections_path)}
    new = [action for action in actions if _identify(action) not in known]
    if new:
        with closing(CorrectionLog(run.corrections_path)) as log:
            log.append(*new)
    return problems


def _list_unknown(masks: GivenMasks, readers: Iterable[MaskReader]) -> list[Problem]:
    """Masks of no image."""
    used = {id(reader) for reader in readers}
    unknown = [name for name, reader in masks.readers.items() if id(reader) not in used]
    reason = "it fits no image; expected the name of an image of the WITH folder"
    return [Problem(f"{MASKS}{name}", f"mask {name}: {reason}") for name in unknown]


def _make_action(bag: Bag, read: MaskReader) -> Action:
    """The mask of an image as an accepted one; raises `BadInputError` where it cannot be."""
    if bag.bag_label != WITH or bag.is_video:
        kind = "a video" if bag.is_video else "an image of the WITHOUT folder"
        raise BadInputError(f"it fits {bag.name}, {kind}; expected a mask of a WITH image")
    mask = read().mask
    if mask is None:
        raise BadInputError("it has boxes only; expected a mask, or boxes drawn as polygons")
    height, width = mask.shape
    if problem := compare_sides(height, width, read_image_size(bag.path)):
        raise BadInputError(problem)
    if not (mask == OBJECT).any():
        raise BadInputError("it is empty; expected the object in it, or no mask")
    return make_mask_action("accept", bag, 1, mask == OBJECT)


def make_mask_action(kind: str, bag: Bag | BagRecord, value: int, pixels: np.ndarray) -> Action:
    """An action on pixels (h, w) bool of an image."""
    height, width = pixels.shape
    return Action(kind, bag.digest, bag.name, value, height, width, str(encode_rle(pixels)["counts"]))


def _identify(action: Action) -> tuple[str | int, ...]:
    return action.kind, action.image, action.height, action.width, action.counts
