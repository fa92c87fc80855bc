"""The Python face: the commands as functions, with all they leave behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from segvote.pipeline.annotate import annotate as run_annotate
from segvote.pipeline.class_runs import ClassRuns
from segvote.pipeline.classes import annotate_classes as run_annotate_classes
from segvote.pipeline.export import export
from segvote.pipeline.predict import predict
from segvote.pipeline.run import Run
from segvote.pipeline.settings import Settings
from segvote.pipeline.update import update as run_update

__all__ = ["annotate", "annotate_classes", "export", "predict", "update"]


def annotate(
    with_folder: Path | str,
    without_folder: Path | str,
    out: Path | str,
    settings: Settings | None = None,
    **options: Any,
) -> Run:
    """Masks of the thing that one folder of images shows and the other does not, and the report about them.

    Parameters are those of `segvote.pipeline.annotate.annotate`; in a script, call it only from under
    ``if __name__ == "__main__"``.
    """
    from segvote.report import write_report

    run = run_annotate(with_folder, without_folder, out, settings, **options)
    write_report(run)
    return run


def annotate_classes(root: Path | str, out: Path | str, settings: Settings | None = None, **options: Any) -> ClassRuns:
    """Masks of several things at once, and the reports about them.

    Parameters are those of `segvote.pipeline.classes.annotate_classes`; see `annotate` about scripts.
    """
    from segvote.report import write_report
    from segvote.report.classes_page import write_classes_report

    runs = run_annotate_classes(root, out, settings, **options)
    for run in runs.runs.values():
        write_report(run)
    write_classes_report(runs)
    return runs


def update(run: Run | Path | str, **options: Any) -> Run:
    """Add images to a run or take some out, and write its report anew.

    Parameters are those of `segvote.pipeline.update.update`; see `annotate` about scripts.
    """
    from segvote.report import write_report

    updated = run_update(run, **options)
    write_report(updated)
    return updated
