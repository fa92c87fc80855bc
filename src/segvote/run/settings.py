"""What a user may choose: every default of the main job, written once."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """Parameters that decide the answer of `annotate`; they make up the run's key.

    Attributes
    ----------
    voter, voter_options
        A name of `VOTERS` and parameters of its class.
    features, feature_options
        A name of `FEATURES`, several joined by ``+``, or a path to an ONNX network.
    segmenter, n_segments, size
        A name of `SEGMENTERS`, how many segments, and the longest side in pixels at which to segment.
    border_survival
        Background prior of segments on the image border; 1 switches it off.
    motion_survival
        Background prior of what moves with the ground of a video; 1 switches it off.
    mute_suspects
        Whether *without* bags that look like *with* bags lose their say; for voters that can do without some.
    elect
        Whether the segments that were taken vote once more, all alike, before it is decided for good.
    second_vote
        Share of the neighbours in the second voting; 0 switches it off.
    decision
        A name of `DECISIONS`.
    n_pieces
        Small pieces along which masks are redrawn after the decision; 0 leaves them made of whole segments.
    seed
        Of everything random (codebooks).
    label
        What the thing is called in files.
    frames
        Which sub-folders are videos: ``auto`` looks at them, ``video`` all, ``images`` none.
    every, fps
        Of a video, every n-th frame, or about this many frames per second (0: all); at most one of them.
    """

    voter: str = "ekde"
    features: str = "lite0"
    segmenter: str = "ward"
    n_segments: int = 200
    size: int = 400
    border_survival: float = 0.9
    motion_survival: float = 0.7
    mute_suspects: bool = True
    elect: bool = True
    second_vote: float = 0.15
    decision: str = "outlines"
    n_pieces: int = 1500
    seed: int = 0
    label: str = "object"
    frames: str = "auto"
    every: int = 1
    fps: float = 0.0
    voter_options: dict[str, Any] = field(default_factory=dict)
    feature_options: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def vote_once(self) -> Settings:
        """The same, but for what follows the first vote: nobody is muted, nobody elected."""
        return replace(self, mute_suspects=False, elect=False)
