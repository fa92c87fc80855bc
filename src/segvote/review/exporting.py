"""Write a run's files again with all of the user's corrections: the same bytes that `annotate` would write."""

from __future__ import annotations

from segvote.errors import BusyRunError
from segvote.progress import Progress, ignore_progress
from segvote.run.corrections import make_result_key
from segvote.run.record import make_record
from segvote.run.run import Run
from segvote.run.settings import read_settings
from segvote.steps.outcome import write_files
from segvote.steps.reopening import Voted
from segvote.steps.resources import Resources


def is_written(voted: Voted) -> bool:
    """Whether the files of the run are those of this vote and these corrections."""
    opened = voted.opened
    key = make_result_key(opened.run.settings, opened.bags, opened.corrections)
    record = opened.run.folder.read_record()
    return bool(record.get("complete")) and record.get("key") == key


def export_run(voted: Voted, progress: Progress = ignore_progress) -> Run:
    """Write masks, heat maps, the COCO file, votes, model and report of a run after a vote."""
    from segvote.report import write_report

    opened = voted.opened
    run, folder, settings = opened.run, opened.run.folder, opened.run.settings
    key = make_result_key(settings, opened.bags, opened.corrections)
    inputs, problems = run.record["inputs"], run.record["problems"]
    with folder.lock():
        check_unchanged(run)
        # Not complete while its files are half old, half new: `annotate` would finish it.
        folder.write_record({**make_record(inputs, settings, "", False), "bags": run.record["bags"]})
        write_files(folder, voted.outcome, inputs, key, problems, Resources(n_jobs=1), progress)
    written = Run(folder.path)
    write_report(written)
    return written


def check_unchanged(run: Run) -> None:
    """Segments and features must still be the ones that were opened."""
    now = run.folder.read_record()
    same = [bag["features"] for bag in now["bags"]] == [bag.features for bag in run.bags]
    if not same or read_settings(now["settings"], run.folder) != run.settings:
        raise BusyRunError(f"{run.folder.path} was annotated anew meanwhile; stop `segvote review` and start it again")
