"""The end of a review: estimated quality of the masks not reviewed, and the files of the run written again."""

from __future__ import annotations

from collections.abc import Sequence

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
from segvote.run.settings import read_settings
from segvote.steps.annotate import write_run
from segvote.steps.reopening import Voted
from segvote.steps.workers import Resources

# Fewest accepted masks for an estimate.
FEWEST = 3
CONFIDENCE = 0.95


def estimate_rest(overlaps: Sequence[float]) -> dict[str, float] | None:
    """Estimate for the other masks from the IoUs of automatic masks with the accepted ones; None for too few of them.

    The mean IoU with its confidence interval; `nUntouched` of the `nAccepted` masks were accepted as the vote had them,
    to the pixel.
    """
    n_accepted = len(overlaps)
    if n_accepted < FEWEST:
        return None
    mean = float(np.mean(overlaps))
    quantile = float(stdtrit(n_accepted - 1, (1 + CONFIDENCE) / 2))  # of Student's distribution
    margin = quantile * float(np.std(overlaps, ddof=1)) / n_accepted**0.5
    n_untouched = sum(int(overlap == 1) for overlap in overlaps)
    interval = {"low": max(0.0, mean - margin), "high": min(1.0, mean + margin)}
    return {"nAccepted": n_accepted, "nUntouched": n_untouched, "mean": mean, **interval}


class Overlaps:
    """IoUs of accepted masks with those that a vote without user labels would give the same images."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._known: dict[int, tuple[int, float]] = {}  # bag to the version it was touched in, and the IoU

    def _list_accepted(self, snapshot: Snapshot) -> list[int]:
        found = np.flatnonzero(snapshot.accepted & snapshot.positive)
        return [bag for bag in found.tolist() if not self.run.bags[bag].n_frames]

    def find_next(self, snapshot: Snapshot) -> int | None:
        """An accepted image whose IoU is not known for its present mask."""
        accepted = self._list_accepted(snapshot)
        return next((bag for bag in accepted if self._known.get(bag, (0,))[0] != snapshot.touched_at[bag]), None)

    def measure(self, snapshot: Snapshot, bag: int, automatic: Snapshot, shown: np.ndarray) -> None:
        """Compare the mask shown (h, w) of a bag with that of a snapshot without user labels."""
        mask = resize_labels(draw_segments(self.run, automatic, bag), shown.shape)  # type: ignore[arg-type]
        self._known[bag] = (int(snapshot.touched_at[bag]), measure_iou(mask, shown))

    def estimate(self, snapshot: Snapshot) -> dict[str, float] | None:
        """See `estimate_rest`; None while too few masks were accepted."""
        return estimate_rest([self._known[bag][1] for bag in self._list_accepted(snapshot) if bag in self._known])


def export_run(voted: Voted, progress: Progress = ignore_progress) -> Run:
    """Write masks, heat maps, the COCO file, votes, model and report of a run after a vote."""
    from segvote.report import write_report

    folder, settings = voted.opened.folder, voted.opened.settings
    with folder.lock():
        record = folder.read_record()
        same = [bag.features for bag in record.bags] == [bag.features_key for bag in voted.opened.bags]
        if not same or read_settings(record.settings, folder.record_path) != settings:
            raise BusyRunError(f"{folder.path} was annotated anew meanwhile; stop `segvote review` and start it again")
        # Not complete while its files are partly old: `annotate` would finish it.
        folder.write_record(make_record(record.inputs, settings, "", bags=record.bags, problems=record.problems))
        write_run(voted, record.inputs, record.problems, Resources(n_jobs=1, progress=progress))
    written = Run(folder.path)
    write_report(written)
    return written
