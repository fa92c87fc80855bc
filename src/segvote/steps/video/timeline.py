"""What a video's masks do through time: how much of each frame they cover and how sure the vote was of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from segvote.errors import BadInputError, DamagedFileError
from segvote.io.images import resize_labels
from segvote.io.tables import read_json, write_json
from segvote.run.run_folder import RunFolder
from segvote.steps.video.draw import DrawnFrame


@dataclass(frozen=True)
class Moment:
    """One frame."""

    time: float  # seconds from the start of the video
    area: float  # share of the frame that the mask covers
    # Mean heat of what the mask covers, or of the hottest pixel where it covers nothing; the decision is at .5.
    heat: float
    flicker: float = 0.0  # share of the mask that changed although the flow does not explain it


def measure_moment(drawn: DrawnFrame) -> Moment:
    """The moment of a frame."""
    mask = resize_labels(drawn.mask, drawn.heat.shape)  # type: ignore[arg-type]
    heat = drawn.heat[mask].mean() if mask.any() else drawn.heat.max()
    area = np.count_nonzero(drawn.mask) / drawn.mask.size
    return Moment(round(drawn.frame.time, 4), round(area, 6), round(float(heat), 4), round(drawn.flicker, 4))


def get_timeline_path(run: RunFolder, stem: str) -> Path:
    """Where the moments of a video lie."""
    return run.path / "tracks" / f"{stem}.timeline.json"


def write_timeline(run: RunFolder, stem: str, moments: list[Moment]) -> None:
    """Keep the moments of a video."""
    write_json(get_timeline_path(run, stem), {"frames": [asdict(moment) for moment in moments]})


def read_timeline(run: RunFolder, stem: str) -> list[Moment]:
    """The moments of a video; none where the file is absent or damaged."""
    try:
        return [Moment(**frame) for frame in read_json(get_timeline_path(run, stem))["frames"]]
    except (BadInputError, DamagedFileError, KeyError, TypeError):
        return []
