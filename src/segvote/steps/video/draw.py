"""Masks of all frames of a video: carried heat, redrawn along each frame's own edges and steadied over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from segvote.io.images import resize_labels
from segvote.io.video.reading import Frame
from segvote.masks import Decided, Drawing, draw_mask
from segvote.segmentation.carrying import Track, measure_flicker, smooth_heat
from segvote.segmentation.flow import measure_flow
from segvote.steps.drawing.superpixels import segment_superpixels
from segvote.steps.video.carry import CarriedFrame, SegmentedVideo

# How much of a frame's heat is the mask of the frame before, where the flow is trusted.
STEADINESS = 0.3


@dataclass(frozen=True)
class DrawnFrame:
    """One frame of a video.

    Attributes
    ----------
    frame
        As it was read.
    mask, heat
        (h, w) bool at the size of the frame; (h', w') float32 in [0, 1] at working size.
    flicker
        See `segvote.segmentation.carrying.measure_flicker`; 0 for the first frame.
    """

    frame: Frame
    mask: np.ndarray
    heat: np.ndarray
    flicker: float


class VideoDrawer:
    """Draws the frames of one video.

    Parameters
    ----------
    video
        Which.
    heat, decisions, fixed
        (n_segments,) heat in [0, 1], one half where the decision changes; bool; -1 or the user label, 0 or 1.
    along_superpixels
        Whether masks are drawn along superpixels; otherwise the carried segments as they are.
    steadiness
        How much the mask of a frame keeps to that of the frame before, in [0, 1).
    """

    def __init__(
        self,
        video: SegmentedVideo,
        heat: np.ndarray,
        decisions: np.ndarray,
        fixed: np.ndarray,
        along_superpixels: bool = True,
        steadiness: float = STEADINESS,
    ) -> None:
        self.video, self.along_superpixels, self.steadiness = video, along_superpixels, steadiness
        # A user label holds in every frame that its segment is carried to.
        self.heat = np.where(fixed >= 0, fixed == 1, heat).astype(np.float32)
        self.fixed, self.is_empty = fixed, not decisions.any()

    def draw(self) -> Iterator[DrawnFrame]:
        """All frames in order."""
        if self.is_empty:
            for one in self.video.hold(self.heat):
                yield DrawnFrame(one.frame, np.zeros(one.frame.image.shape[:2], dtype=bool), one.heat, 0.0)
            return
        last: CarriedFrame | None = None
        mask: np.ndarray = np.zeros(0)
        for one in self.video.carry(self.heat):
            mask, flicker = (self._draw(one, one.heat), 0.0) if last is None else self._draw_after(one, last, mask)
            shape = one.frame.image.shape[:2]
            yield DrawnFrame(one.frame, resize_labels(mask, shape), one.heat, flicker)  # type: ignore[arg-type]
            last = one

    def _draw_after(self, one: CarriedFrame, last: CarriedFrame, before: np.ndarray) -> tuple[np.ndarray, float]:
        """(h, w) mask of a frame by that of the frame before it, (h, w), and its flicker."""
        flow = measure_flow(one.working, last.working)
        track = Track.start(last.working).follow(one.working, flow)
        mask = self._draw(one, smooth_heat(one.heat, before, track, self.steadiness))
        return mask, measure_flicker(mask, before, flow)

    def _draw(self, one: CarriedFrame, heat: np.ndarray) -> np.ndarray:
        """(h, w) bool at working size."""
        found = segment_superpixels(one.working, one.labels) if self.along_superpixels else None
        # Every pixel is a segment of its own: carried heat differs within segments.
        pixels, flat = np.arange(heat.size).reshape(heat.shape), heat.ravel()
        decided = Decided(pixels, flat, flat > 0.5, self.fixed[one.labels].ravel())
        return draw_mask(decided, found, Drawing("regions"), max(heat.shape), lambda _: one.working)
