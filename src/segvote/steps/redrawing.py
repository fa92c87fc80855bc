"""What the pictures make of a verdict: which segments masks cover once they are redrawn along edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from segvote.io.arrays import read_arrays
from segvote.io.images import read_image
from segvote.kernels import Workspace
from segvote.masks.drawing import draw_mask_along
from segvote.run.run_folder import RunFolder
from segvote.segmentation.labels import measure_areas
from segvote.steps.superpixels import fetch_pieces

__all__ = ["Picture", "Sketch", "redraw_segments"]


@dataclass(frozen=True)
class Picture:
    """Where the label map and the pieces of an image lie, and the image itself.

    Attributes
    ----------
    run, segments_key
        The run folder and the name of the image's segments in it.
    path
        Of the image, which is read if it has not been cut into pieces yet.
    """

    run: RunFolder
    segments_key: str
    path: Path


@dataclass(frozen=True)
class Sketch:
    """A mask to be redrawn: its picture, and the heat (n_segments,) in [0, 1] and decisions (n_segments,) on it."""

    picture: Picture
    heat: np.ndarray
    decisions: np.ndarray
    n_superpixels: int

    def measure_cover(self) -> np.ndarray:
        """(n_segments,) part of each segment that the redrawn mask covers."""
        picture = self.picture
        labels = read_arrays(picture.run.segments_path(picture.segments_key), ("labels",))["labels"]
        cut = fetch_pieces(
            picture.run, picture.segments_key, self.n_superpixels, labels, lambda: read_image(picture.path)
        )
        free = np.full(len(self.heat), -1, dtype=np.int8)
        mask = draw_mask_along(cut, labels, self.heat, self.decisions, free, labels.shape)  # type: ignore[arg-type]
        return np.bincount(labels.ravel(), weights=mask.ravel(), minlength=len(self.heat)) / measure_areas(labels)


def redraw_segments(sketches: Sequence[Sketch]) -> list[np.ndarray]:
    """For each sketch which segments (n_segments,) bool lie in the redrawn mask with more than half of their area."""
    return [cover > 0.5 for cover in Workspace().run(Sketch.measure_cover, sketches)]
