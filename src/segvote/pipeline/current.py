"""A run brought up to date with its corrections: the files that another command reads have every saved action.

The record names the corrections that its files follow. Where the log went on since, all images vote again and the
files are written from that vote, as *Write masks* of the review page does. Where a sample votes, images with
corrections vote in addition.
"""

from __future__ import annotations

from segvote.errors import BusyRunError
from segvote.pipeline.classes import join_again
from segvote.pipeline.corrected_vote import RunVote, vote
from segvote.pipeline.opening import reopen
from segvote.pipeline.vote import load_method
from segvote.pipeline.workers import Resources
from segvote.pipeline.write_run import write_again
from segvote.run.classes import ClassRuns
from segvote.run.corrections import read_corrections
from segvote.run.run import Run
from segvote.settings import read_settings


def bring_up_to_date(run: Run | ClassRuns, resources: Resources = Resources()) -> Run | ClassRuns:
    """The run with files that follow its corrections; `run` itself where they do already.

    Of a run on classes, the runs of all classes and the masks that join them.
    """
    if isinstance(run, Run):
        return run if is_current(run) else write_corrected(_vote(run), resources)
    for one in run.runs.values():
        bring_up_to_date(one, resources)
    return join_again(run, resources)


def is_current(run: Run) -> bool:
    """Whether the files of a run follow all of its corrections."""
    return run.record.corrections == read_corrections(run.folder).digest


def write_corrected(run_vote: RunVote, resources: Resources) -> Run:
    """Write masks, heat maps, the COCO file, votes and model of a finished run after a vote."""
    folder, settings = run_vote.inputs.folder, run_vote.inputs.settings
    with folder.lock():
        record = folder.read_record()
        known = sorted(bag.features for bag in (*record.bags, *record.predicted))
        is_same = known == sorted(bag.features_key for bag in (*run_vote.inputs.bags, *run_vote.inputs.others))
        if not is_same or read_settings(record.settings, folder.record_path) != settings:
            raise BusyRunError(f"{folder.path} was annotated anew meanwhile; stop `segvote review` and start it again")
        write_again(run_vote, record, resources)
    return Run(folder.path)


def _vote(run: Run) -> RunVote:
    run.check_images()
    load_method()
    return vote(reopen(run), keep=True)
