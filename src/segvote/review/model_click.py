"""The model click: part, object or whole at a place of an image, by the promptable network of the run.

That is the network which redraws the masks of the run, otherwise the installed one. The embedding of an image, by far
the slowest step, is that of ``--refine``, in the run folder; a prompt then takes the decoder only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np

from segvote.errors import BadInputError, SegvoteError
from segvote.features.networks.sam import MOBILE_SAM, SIDE, Sam, check_refiner, enlarge, open_sam
from segvote.features.networks.sam_levels import LEVELS, find_levels
from segvote.masks import Drawing
from segvote.masks.pieces import remove_specks
from segvote.pipeline.drawing.choosing import name_refiner
from segvote.pipeline.drawing.images import fetch_embedding, get_embedding_path
from segvote.review.masks import encode_mask, fit_size
from segvote.review.strokes import Points, check_stroke
from segvote.run.run import Run

# Embeddings, 2 MB each, and answers of the decoder, 1 MB each, that are kept.
N_EMBEDDINGS, N_ANSWERS = 8, 8

Corners = tuple[tuple[float, ...], ...]  # x and y of one point, or of two corners of a box


class ModelClick:
    """Masks of the network for places of a run's images, one at a time; safe to use from several threads.

    `check` is called before an embedding is written, and raises where the run folder is gone.
    """

    def __init__(self, run: Run, check: Callable[[], None] = lambda: None) -> None:
        self.run, self._check = run, check
        self._working = threading.Lock()
        self._embed_kept = lru_cache(N_EMBEDDINGS)(self._embed)
        self._decode_kept = lru_cache(N_ANSWERS)(self._decode)

    @cached_property
    def drawing(self) -> Drawing:
        """The drawing of the run, with the installed network where it has none; an error where files are missing."""
        found = self.run.drawing
        if not found.refine:
            return replace(found, **name_refiner(replace(self.run.settings, refine=MOBILE_SAM)))
        check_refiner(found.refine, found.refine_sha256)
        return found

    @cached_property
    def _sam(self) -> Sam:
        return open_sam(self.drawing.refine, self.drawing.refine_sha256, self.drawing.device)

    def find_problem(self) -> str:
        """Why there is no network, in one line; empty where there is one."""
        try:
            _ = self.drawing
        except SegvoteError as error:
            return str(error)
        return ""

    def embed(self, bag: int) -> None:
        """Compute and store the embedding of an image, unless it is there."""
        with self._working:
            self._embed_kept(bag)

    def draw_levels(self, bag: int, points: Points, size: tuple[int, int]) -> np.ndarray:
        """(3, *size) bool: part, object and whole at a point x, y or in a box of two corners of an image.

        Specks and pinholes are removed, as from the regions that the run draws. `BadInputError` where the network
        finds nothing.
        """
        return np.stack([self._draw(one, size) for one in self._find(bag, points)])

    def draw(self, bag: int, points: Points, level: int) -> np.ndarray:
        """(height, width) bool: part (1), object (2) or whole (3) at the size of the image."""
        if not 1 <= level <= len(LEVELS):
            raise BadInputError(f"expected a level from 1, the part, to {len(LEVELS)}, the whole; got {level}")
        mask = self._draw(self._find(bag, points)[level - 1], self._get_size(bag))
        if not mask.any():
            raise BadInputError("the mask of the model covers no pixel of the image; choose a wider level")
        return mask

    def encode(self, bag: int, points: Points) -> bytes:
        """Part, object and whole for the page, as three masks of one size."""
        size = fit_size(self._get_size(bag), SIDE)  # the network knows no more pixels
        return b"".join(encode_mask(mask) for mask in self.draw_levels(bag, points, size))

    def _get_size(self, bag: int) -> tuple[int, int]:
        return self.run.bags[bag].height, self.run.bags[bag].width

    def _find(self, bag: int, points: Points) -> np.ndarray:
        corners = check_corners(points, *self._get_size(bag))
        with self._working:
            logits = self._decode_kept(bag, corners)
        if not len(logits):
            raise BadInputError("the model finds nothing at this place; click another one, or drag a box")
        return logits

    def _draw(self, logits: np.ndarray, size: tuple[int, int]) -> np.ndarray:
        return remove_specks(enlarge(logits, size), self.drawing.typical_piece)

    def _embed(self, bag: int) -> np.ndarray:
        self._check()
        path = get_embedding_path(self.run.folder, self.run.bags[bag].segments, self.drawing)
        return fetch_embedding(path, self.run.find_image(bag), self._sam)

    def _decode(self, bag: int, corners: Corners) -> np.ndarray:
        return find_levels(self._sam, self._embed_kept(bag), np.array(corners), self._get_size(bag))


def check_corners(points: Points, height: int, width: int) -> Corners:
    """A point, or the upper left and the lower right corner of a box, inside an image, from untrusted values."""
    corners = check_stroke("brush", points).points
    if len(corners) > 2:
        raise BadInputError(f"expected a place or the two corners of a box; got {len(corners)} points")
    if (corners < 0).any() or (corners > [width, height]).any():
        raise BadInputError(f"expected places inside the image ({width} x {height}); got {corners.tolist()}")
    low, high = corners.min(axis=0), corners.max(axis=0)
    if len(corners) == 2 and (high - low).min() <= 0:
        raise BadInputError("expected a box with a width and a height; drag from corner to corner")
    return tuple(tuple(corner) for corner in ([low, high] if len(corners) == 2 else [low]))
