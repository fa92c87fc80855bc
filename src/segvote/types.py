"""Containers that several packages share: frozen, with checked shapes."""

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

    Node ``i < n`` of the tree is segment i, ``parents[i]`` the node it merges into; the last node is the root and its
    own parent. Parents have higher numbers than their children.
    """

    labels: np.ndarray  # (h, w) int32, or (frames, h, w); ids 0 .. n-1 without gaps, every segment connected
    parents: np.ndarray  # (2 n - 1,) int32
    altitudes: np.ndarray  # (2 n - 1,) float32: dissimilarity of the merged parts; 0 for segments, never decreasing

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
    scores: np.ndarray | None = None  # (n_instances,) of the instances; None: that of the part


@dataclass(frozen=True)
class Annotation:
    """The objects found in one image or one frame of a video."""

    name: str  # path below the folder of the images, with forward slashes and extension
    height: int  # as displayed, with EXIF orientation applied
    width: int
    parts: tuple[Part, ...] = ()
    unsure: np.ndarray | None = None  # (h, w) bool: pixels close to the threshold
    image_path: Path | None = None  # of the picture, if it is on disk
    properties: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        masks = [part.mask for part in self.parts] + ([] if self.unsure is None else [self.unsure])
        for mask in masks:
            if mask.shape != (self.height, self.width) or mask.dtype != np.bool_:
                raise BadInputError(
                    f"{self.name}: a mask must be bool of shape {(self.height, self.width)}, "
                    f"got {mask.dtype} of shape {mask.shape}"
                )
