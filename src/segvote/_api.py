"""The Python face: the commands as functions, with all they leave behind.

Every folder is a path or an address of a store (``s3://bucket/folder``); see `segvote.io.remote.opening`. What is
returned then reads from the mirror of the folder on this machine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from segvote.evaluation.evaluate import Evaluation
from segvote.evaluation.evaluate import evaluate as run_evaluate
from segvote.io.remote.opening import open_folders
from segvote.progress import Progress, ignore_progress
from segvote.report import write_report
from segvote.report.classes_page import write_classes_report
from segvote.run.class_runs import ClassRuns
from segvote.run.remote import open_run
from segvote.run.run import Run
from segvote.run.settings import Settings
from segvote.steps.annotate import annotate as run_annotate
from segvote.steps.classes.annotate import annotate_classes as run_annotate_classes
from segvote.steps.export import export as run_export
from segvote.steps.prediction.predict import Predictions
from segvote.steps.prediction.predict import predict as run_predict
from segvote.steps.update import update as run_update

__all__ = ["annotate", "annotate_classes", "evaluate", "export", "predict", "update"]


def annotate(
    with_folder: Path | str,
    without_folder: Path | str,
    out: Path | str,
    settings: Settings | None = None,
    *,
    segments: Path | str | None = None,
    progress: Progress = ignore_progress,
    **options: Any,
) -> Run:
    """Masks of the object that one folder of images shows and the other does not, and the report about them.

    Parameters are those of `segvote.steps.annotate.annotate`; in a script, call it only from under
    ``if __name__ == "__main__"``.
    """
    with open_folders([with_folder, without_folder, segments], [out], progress=progress) as here:
        one, other, own = here.inputs
        run = run_annotate(one, other, here.outs[0], settings, segments=own, progress=here.progress, **options)
        write_report(run)
    return run


def annotate_classes(
    root: Path | str,
    out: Path | str,
    settings: Settings | None = None,
    *,
    segments: Path | str | None = None,
    progress: Progress = ignore_progress,
    **options: Any,
) -> ClassRuns:
    """Masks of several objects at once, and the reports about them.

    Parameters are those of `segvote.steps.classes.annotate.annotate_classes`; see `annotate` about scripts.
    """
    with open_folders([root, segments], [out], progress=progress) as here:
        folder, own = here.inputs
        runs = run_annotate_classes(folder, here.outs[0], settings, segments=own, progress=here.progress, **options)
        for run in runs.runs.values():
            write_report(run)
        write_classes_report(runs)
    return runs


def update(
    run: Run | Path | str,
    *,
    add_with: Any = (),
    add_without: Any = (),
    segments: Path | str | None = None,
    progress: Progress = ignore_progress,
    **options: Any,
) -> Run:
    """Add images to a run or take some out, and write its report anew.

    Parameters are those of `segvote.steps.update.update`; see `annotate` about scripts.
    """
    add_with, add_without = list(add_with), list(add_without)
    with (
        open_run(run, progress) as (folder, report),
        open_folders([*add_with, *add_without, segments], progress=progress) as here,
    ):
        *added, own = here.inputs
        more: dict[str, Any] = {"add_with": added[: len(add_with)], "add_without": added[len(add_with) :]}
        updated = run_update(folder, **more, segments=own, progress=report, **options)
        write_report(updated)
    return updated


def predict(
    model: Any, folder: Path | str, out: Path | str, *, progress: Progress = ignore_progress, **options: Any
) -> Predictions:
    """Say of images never seen whether they show the object, and draw it.

    Parameters are those of `segvote.steps.prediction.predict.predict`; see `annotate` about scripts.
    """
    with open_folders([folder], [out], [model], progress) as here:
        return run_predict(here.models[0], here.inputs[0], here.outs[0], progress=here.progress, **options)


def evaluate(
    run: Run | Path | str, truth: Path | str, *, progress: Progress = ignore_progress, **options: Any
) -> Evaluation:
    """Masks of a run against truth: CorLoc, IoU, AP and boundaries.

    Parameters are those of `segvote.evaluation.evaluate.evaluate`; `run` may be its folder.
    """
    with open_run(run, progress) as (folder, report), open_folders([truth], progress=progress) as here:
        opened = folder if isinstance(folder, Run) else Run(folder)
        return run_evaluate(opened, here.inputs[0], report, **options)


def export(
    run: Run | ClassRuns | Path | str,
    format: str,
    folder: Path | str | None = None,
    *,
    progress: Progress = ignore_progress,
    **options: Any,
) -> Path:
    """Write the masks of a run in the format of another tool; returns the file or folder to open there.

    Parameters are those of `segvote.steps.export.export`.
    """
    with open_run(run, progress) as (opened, report), open_folders(outs=[folder], progress=report) as here:
        return run_export(opened, format, here.outs[0], progress=here.progress, **options)
