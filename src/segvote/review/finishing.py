"""The end of a review: how good the masks not reviewed may be, and the files of the run written again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from segvote.errors import BusyRunError
from segvote.io.images import resize_labels
from segvote.metrics.overlap import measure_iou
from segvote.progress import Progress, ignore_progress
from segvote.review.masks import draw_segments
from segvote.review.snapshot import Snapshot
from segvote.run.record import make_record
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings, read_settings
from segvote.steps.job import write_run
from segvote.steps.reopening import Voted
from segvote.steps.workers import Resources

# Fewer accepted masks say nothing.
FEWEST = 3
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """Mean IoU of the automatic masks with the accepted ones.

    Attributes
    ----------
    n_accepted, n_untouched
        How many masks were accepted, and how many of them as the vote had them, to the pixel.
    mean, low, high
        Mean IoU, and its interval of confidence (95 %).
    """

    n_accepted: int
    n_untouched: int
    mean: float
    low: float
    high: float


def estimate_rest(overlaps: Sequence[float]) -> Estimate | None:
    """What the IoUs of automatic masks with accepted ones let one expect of the rest; None for too few of them."""
    n_accepted = len(overlaps)
    if n_accepted < FEWEST:
        return None
    mean = float(np.mean(overlaps))
    quantile = float(stdtrit(n_accepted - 1, (1 + CONFIDENCE) / 2))  # of Student's distribution
    margin = quantile * float(np.std(overlaps, ddof=1)) / n_accepted**0.5
    n_untouched = sum(int(overlap == 1) for overlap in overlaps)
    return Estimate(n_accepted, n_untouched, mean, max(0.0, mean - margin), min(1.0, mean + margin))


class Overlaps:
    """IoUs of accepted masks with those that a vote without user labels would give the same images."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._known: dict[int, tuple[int, float]] = {}  # bag to the version it was touched in, and the IoU

    def _list_accepted(self, snapshot: Snapshot) -> list[int]:
        found = np.flatnonzero(snapshot.accepted & snapshot.positive)
        return [bag for bag in found.tolist() if not self.run.bags[bag].n_frames]

    def find_next(self, snapshot: Snapshot) -> int | None:
        """An accepted image whose IoU is not known as it is now."""
        for bag in self._list_accepted(snapshot):
            if bag not in self._known or self._known[bag][0] != snapshot.touched_at[bag]:
                return bag
        return None

    def measure(self, snapshot: Snapshot, bag: int, automatic: Snapshot, shown: np.ndarray) -> None:
        """Compare the mask shown (h, w) of a bag with that of a snapshot without user labels."""
        mask = resize_labels(draw_segments(self.run, automatic, bag), shown.shape)  # type: ignore[arg-type]
        self._known[bag] = (int(snapshot.touched_at[bag]), measure_iou(mask, shown))

    def estimate(self, snapshot: Snapshot) -> Estimate | None:
        """See `estimate_rest`."""
        return estimate_rest([self._known[bag][1] for bag in self._list_accepted(snapshot) if bag in self._known])


def is_written(voted: Voted) -> bool:
    """Whether the files of the run are those of this vote and these corrections."""
    record = voted.opened.folder.read_record()
    return record.complete and record.key == voted.opened.key


def export_run(voted: Voted, progress: Progress = ignore_progress) -> Run:
    """Write masks, heat maps, the COCO file, votes, model and report of a run after a vote."""
    from segvote.report import write_report

    folder, settings = voted.opened.folder, voted.opened.settings
    with folder.lock():
        check_unchanged(folder, settings, [bag.features_key for bag in voted.opened.bags])
        record = folder.read_record()
        # Not complete while its files are half old, half new: `annotate` would finish it.
        folder.write_record(make_record(record.inputs, settings, "", bags=record.bags, problems=record.problems))
        write_run(voted, record.inputs, record.problems, Resources(n_jobs=1, progress=progress))
    written = Run(folder.path)
    write_report(written)
    return written


def check_unchanged(folder: RunFolder, settings: Settings, features: Sequence[str]) -> None:
    """Settings and features of the record, the latter by their keys, must still be the ones that were opened."""
    now = folder.read_record()
    same = [bag.features for bag in now.bags] == list(features)
    if not same or read_settings(now.settings, folder.record_path) != settings:
        raise BusyRunError(f"{folder.path} was annotated anew meanwhile; stop `segvote review` and start it again")
