"""Masks and instances of a review as they stand, for the page and for tools that work on them."""

from __future__ import annotations

import numpy as np

from segvote.pipeline.strokes import label_instances
from segvote.review.board import Board
from segvote.review.masks import Masks, encode_instances
from segvote.review.strokes import check_stroke, trace_outline


class CurrentMasks:
    """The masks of the last snapshot of a board, as an export would write them now."""

    def __init__(self, board: Board, masks: Masks) -> None:
        self.board, self.masks = board, masks

    @property
    def objects(self) -> str:
        """What the objects of the run are, a name of `segvote.masks.OBJECTS`."""
        return self.masks.run.drawing.objects

    def draw_mask(self, bag: int) -> np.ndarray:
        """(height, width) bool: the mask at the size of the image."""
        return self.masks.draw(*self.board.get_drawn(bag), bag)

    def encode_mask(self, bag: int) -> bytes:
        """The mask for the page."""
        return self.masks.encode(*self.board.get_drawn(bag), bag)

    def encode_small_mask(self, bag: int) -> bytes:
        """The mask at the size of a thumbnail; by whole segments until it has been drawn."""
        return self.masks.encode_small(*self.board.get_drawn(bag), bag)

    def label_instances(self, bag: int) -> np.ndarray:
        """(height, width) int32: the instances of an image as `export --instances` would write them now."""
        mask, divisions = self.draw_mask(self.board.check_image(bag)), self.board.get_divisions(bag)
        return label_instances(mask, divisions, self.objects)

    def encode_instances(self, bag: int) -> bytes:
        """The instances for the page."""
        return encode_instances(self.label_instances(bag))

    def trace_outline(self, bag: int, x: int, y: int) -> list[list[float]]:
        """Corners, x and y, of the outline of the object at a pixel of an image."""
        point = check_stroke("fill", [x, y])
        corners: list[list[float]] = trace_outline(self.draw_mask(self.board.check_image(bag)), point).tolist()
        return corners
