"""Containers that several layers hand to each other: frozen, checked once, arrays of agreed shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from segvote.errors import BadInputError

WITH = "with"  # the bag label of a bag that shows the object
WITHOUT = "without"  # the bag label of a bag that does not


@dataclass(frozen=True)
class Segmentation:
    """A label map and the tree in which its segments merge.

    Attributes
    ----------
    labels
        (h, w) int32, or (frames, h, w); segment ids 0 .. n-1 without gaps, every segment connected.
    parents
        (2 n - 1,) int32: node ``i < n`` is segment i, ``parents[i]`` the node it merges into, the last node is the root
        and its own parent. Parents have higher numbers than their children.
    altitudes
        (2 n - 1,) float32: how unlike the merged parts are; 0 for segments, never smaller than the children's.
    """

    labels: np.ndarray
    parents: np.ndarray
    altitudes: np.ndarray

    def __post_init__(self) -> None:
        n_nodes = 2 * self.n_segments - 1
        if len(self.parents) != n_nodes or len(self.altitudes) != n_nodes:
            raise BadInputError(
                f"a tree over {self.n_segments} segments has {n_nodes} nodes; "
                f"got {len(self.parents)} parents and {len(self.altitudes)} altitudes"
            )

    @property
    def n_segments(self) -> int:
        return int(self.labels.max()) + 1


@dataclass(frozen=True)
class Part:
    """One mask of one object in one image: the whole object, or one of its instances."""

    label: str
    mask: np.ndarray  # (h, w) bool
    score: float = 1.0
    track_id: int | None = None
    instances: np.ndarray | None = None  # (h, w) int32, numbers from 1 on the mask; None: its connected regions


@dataclass(frozen=True)
class Annotation:
    """What was found in one image (or one frame of a video).

    Attributes
    ----------
    name
        The image's path below the folder it came from, with forward slashes and its extension.
    height, width
        Size of the displayed image (EXIF orientation applied); every mask has this shape.
    parts
        The objects found; empty for an image without.
    unsure
        (h, w) bool: pixels too close to call, or None.
    image_path
        Where the picture itself lies, if it is on disk.
    """

    name: str
    height: int
    width: int
    parts: tuple[Part, ...] = ()
    unsure: np.ndarray | None = None
    image_path: Path | None = None
    properties: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        masks = [part.mask for part in self.parts] + ([] if self.unsure is None else [self.unsure])
        for mask in masks:
            if mask.shape != (self.height, self.width) or mask.dtype != np.bool_:
                raise BadInputError(
                    f"{self.name}: a mask must be bool of shape {(self.height, self.width)}, "
                    f"got {mask.dtype} of shape {mask.shape}"
                )
