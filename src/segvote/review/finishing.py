"""The end of a review: the files of the run written again."""

from __future__ import annotations

from segvote.pipeline.corrected_vote import RunVote
from segvote.pipeline.current import write_corrected
from segvote.pipeline.workers import Resources
from segvote.progress import Progress, ignore_progress
from segvote.run.run import Run


def export_run(run_vote: RunVote, progress: Progress = ignore_progress) -> Run:
    """Write masks, heat maps, the COCO file, votes, model and report of a run after a vote."""
    from segvote.report import write_report

    written = write_corrected(run_vote, Resources(n_jobs=1, progress=progress))
    write_report(written)
    return written
