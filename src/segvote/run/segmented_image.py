"""What is known of one bag after segmentation and feature extraction."""

from __future__ import annotations

from dataclasses import dataclass, field

from segvote.run.bags import Bag


@dataclass(frozen=True)
class SegmentedImage:
    """What is known of one bag after segmentation and feature extraction; small enough to send between processes."""

    bag: Bag
    segments_key: str = ""
    features_key: str = ""
    height: int = 0
    width: int = 0
    n_segments: int = 0
    problem: str = ""
    n_frames: int = 0  # of a video; 0 for an image
    warning: str = ""  # what of a video or of a stack was left out
    seconds: dict[str, float] = field(default_factory=dict)
