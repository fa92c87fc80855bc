"""Settings of a run: the defaults of `annotate`; those of the vote are those of `VoteParams`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from segvote.errors import DamagedFileError
from segvote.io.picture_formats import BITS, WINDOWS
from segvote.io.tables import convert_record
from segvote.method.hypotheses import VoteParams
from segvote.selection import DEFAULT_EXTENT
from segvote.voters import METHOD

# How many images vote: as many as fit into memory, or all.
AUTO, ALL = "auto", "all"
COARSE = "coarse"
CONTRAST = "contrast"  # prefers segments of unusual local contrast
FINE_SIZE = 896
# Name of a look to the longest side of the network's input in pixels; None: that of the features.
DETAILS: dict[str, int | None] = {"auto": None, COARSE: None, "fine": FINE_SIZE, CONTRAST: FINE_SIZE}


@dataclass(frozen=True)
class Settings:
    """Settings of `annotate`; a run with other settings is another run.

    Attributes
    ----------
    voter : str
        The name of the method or of a voter (`segvote.voters.SYSTEMS`).
    voter_options : dict
        Parameters of the voter's class, by name.
    features, feature_options
        A name of `FEATURES`, several joined by ``+``, or a path to an ONNX network.
    adapt
        Whether the network of the features is fine-tuned on the bag labels first; needs torch once.
    segmenter, n_segments, size
        A name of `SEGMENTERS`, how many segments, and the longest side in pixels at which to segment.
    detail : str
        Size of the network's input: ``auto``, a name of `DETAILS`, or pixels.
    border_prior : float
        Background prior of segments on the image border; 1 switches it off.
    exclude_mislabelled : bool
        Whether bags that are likely mislabelled are excluded from the vote of the method.
    finish : bool
        Whether the re-vote and the linear classifier of the method follow a voter; the method has them anyway.
    smoothing : float
        Part of a segment's score that comes from adjacent segments that look alike; 0 switches it off.
    second_voting : bool
        Whether scores are smoothed as in the paper, by the mean over all adjacent segments; otherwise over those that
        look alike. For voters alone.
    decision : str
        A name of `DECISIONS`.
    unsure : bool
        Whether images of the *with* folder may come out empty where nothing in them is supported.
    extent : int
        One of the nested selections, from 1, the most distinctive part, to 6, the whole object; see
        `segvote.method.extents`.
    draw : str
        How masks are drawn after the decision: a name of `segvote.masks.WAYS`.
    objects : str
        What counts as one object of a mask: a name of `segvote.masks.OBJECTS`.
    refine : str
        A network that redraws the regions of masks, ``mobile-sam`` or ``sam:ENCODER.onnx,DECODER.onnx``; empty: none.
        It runs on the device of the features.
    vote_on : str
        How many images vote, the others are predicted: ``auto`` (as many as fit into memory), ``all``, or a number; see
        `segvote.pipeline.sample`.
    seed : int
        Seed of random numbers (codebooks).
    label : str
        Name of the object in files.
    frames : str
        Which sub-folders are videos: ``auto`` looks at them, ``video`` all, ``images`` none.
    every : int
        Read every n-th frame of a video.
    fps : float
        Read about this many frames per second of a video; 0: all. Not together with `every`.
    pages : str
        Pages of TIFF stacks to read: a name of `PAGES` of `segvote.io.picture_formats`.
    window : str
        Intensities of images of more than 8 bits: a name of `WINDOWS` of `segvote.io.picture_formats`.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from segvote import Settings
    >>> fine = Settings(n_segments=400, label="cow")
    >>> replace(fine, voter="crane").voter
    'crane'
    """

    voter: str = METHOD
    features: str = "lite0"
    adapt: bool = False
    segmenter: str = "ward"
    n_segments: int = 200
    size: int = 400
    detail: str = "auto"
    border_prior: float = VoteParams.border_prior
    exclude_mislabelled: bool = VoteParams.exclude_mislabelled
    finish: bool = False
    smoothing: float = VoteParams.smoothing
    second_voting: bool = False
    decision: str = VoteParams.decision
    unsure: bool = VoteParams.allow_empty
    extent: int = DEFAULT_EXTENT
    draw: str = "auto"
    objects: str = "auto"
    refine: str = ""
    vote_on: str = AUTO
    seed: int = 0
    label: str = "object"
    frames: str = "auto"
    every: int = 1
    fps: float = 0.0
    pages: str = "first"
    window: str = BITS
    voter_options: dict[str, Any] = field(default_factory=dict)
    feature_options: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The fields for a record; `vote_on` only where it was chosen, because by default it changes no result."""
        data = asdict(self)
        if self.vote_on == AUTO:
            del data["vote_on"]
        return data


def read_settings(data: Any, where: object) -> Settings:
    """Validate the settings of a record."""
    settings = convert_record(data, Settings, where)
    if settings.window not in WINDOWS:  # part of the paths by which images are read
        raise DamagedFileError(f"{where}: unknown window {settings.window!r:.80}; restore the file, or annotate again")
    return settings
