"""Another extent for a finished run: the same vote at another level of its nested selections, no vote held again."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from segvote.errors import BadInputError, DamagedFileError
from segvote.io.arrays import read_arrays
from segvote.method.extents import N_LEVELS, Extents
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder


def check_level(level: int) -> int:
    """The level itself, if there is one of that number."""
    if not 1 <= level <= N_LEVELS:
        raise BadInputError(f"expected an extent from 1 (tightest) to {N_LEVELS} (widest); got {level}")
    return level


def choose_extent(run: Run | Path | str, level: int, image: str = "") -> None:
    """Note the choice in the run's log of corrections: it can be undone, and every later command follows it.

    Parameters
    ----------
    run : Run or path
        A finished run.
    level : int
        From 1 to `N_LEVELS`.
    image : str
        Name of the image it is for; empty: all images.
    """
    run = run if isinstance(run, Run) else Run(run)
    record = next((bag for bag in run.bags if bag.name == image), None)
    if image and record is None:
        raise BadInputError(
            f"expected the name of an image of {run.folder.path}, such as {run.bags[0].name}; got {image!r}"
        )
    log = CorrectionLog(run.folder.corrections_path)
    try:
        log.append(Action("extent", record.digest if record else "", image, check_level(level)))
    finally:
        log.close()


def read_extents(folder: RunFolder, n_segments: int) -> tuple[Extents, np.ndarray]:
    """The nested selections of a run, and the scores (n_segments,) that they were found on."""
    arrays = read_arrays(folder.extents_path)
    try:
        extents = Extents(arrays["levels"], arrays["thresholds"], arrays["shares"])
        scores = arrays["scores"]
    except KeyError as error:
        raise DamagedFileError(f"{folder.extents_path} lacks {error}; repeat `segvote annotate`") from error
    if not len(extents.levels) == len(extents.shares) == len(scores) == n_segments:
        raise DamagedFileError(f"{folder.extents_path} is of other segments; repeat `segvote annotate`")
    return extents, scores
