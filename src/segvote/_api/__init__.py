"""The Python face: the commands as functions, with all they leave behind.

Every folder is a path or an address of a store (``s3://bucket/folder``); see `segvote.io.remote.opening`. What is
returned then reads from the mirror of the folder on this machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from segvote._api.in_memory import ImageMasks, annotate_images
from segvote._api.opened import OpenedRun, RunImage, load_run
from segvote._api.reviewing import open_review
from segvote.evaluation.compare import Comparison, Plan
from segvote.evaluation.compare import compare as run_compare
from segvote.evaluation.evaluate import Evaluation
from segvote.evaluation.evaluate import evaluate as run_evaluate
from segvote.io.progress_bar import draw_progress
from segvote.io.remote.opening import open_folders
from segvote.metrics.overlap import IMAGE_THRESHOLD
from segvote.progress import Progress, ignore_progress
from segvote.report import write_report
from segvote.report.classes_page import write_classes_report
from segvote.report.compare_page import write_comparison
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
from segvote.voters import VOTERS

__all__ = [
    "ImageMasks",
    "OpenedRun",
    "RunImage",
    "annotate",
    "annotate_classes",
    "annotate_images",
    "compare",
    "evaluate",
    "export",
    "load_run",
    "open_review",
    "predict",
    "update",
]


def annotate(
    with_folder: Path | str,
    without_folder: Path | str,
    out: Path | str,
    settings: Settings | None = None,
    *,
    segments: Path | str | None = None,
    n_jobs: int = 2,
    strict: bool = False,
    progress: Progress | None = None,
) -> OpenedRun:
    """Masks of the object that one folder of images shows and the other does not, and the report about them.

    Parameters
    ----------
    with_folder, without_folder
        Folders of images, nested as you like; paths or addresses of a store.
    out
        The run folder to write; an unfinished or earlier run of the same two folders is continued.
    settings
        See `Settings`.
    segments
        Folder of your own label maps (PNG or npy) or contour maps (ucm2 in .mat), named like the images; None: segment.
    n_jobs
        Number of processes; the answer does not depend on it.
    strict
        An unreadable image is an error instead of a line in the report.
    progress
        Called with step, done, total; None: a bar where somebody watches, in a terminal or a notebook.

    Examples
    --------
    >>> import tempfile, segvote
    >>> from segvote.datasets import write_scenes
    >>> folder = tempfile.mkdtemp()
    >>> _ = write_scenes(folder, n_with=4, n_without=4, size=(120, 90))
    >>> quick = segvote.Settings(features="color", n_segments=30, size=120)
    >>> run = segvote.annotate(f"{folder}/with", f"{folder}/without", f"{folder}/out", quick, n_jobs=1)
    >>> len(run), run.images[0].mask.shape
    (8, (90, 120))
    """
    with (
        draw_progress() as bar,
        open_folders([with_folder, without_folder, segments], [out], progress=progress or bar) as here,
    ):
        one, other, own = here.inputs
        run = run_annotate(
            one, other, here.outs[0], settings, segments=own, n_jobs=n_jobs, strict=strict, progress=here.progress
        )
        write_report(run)
    return OpenedRun(run.folder.path)


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

    Parameters are those of `segvote.steps.classes.annotate.annotate_classes`.
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

    Parameters are those of `segvote.steps.update.update`.
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

    Parameters are those of `segvote.steps.prediction.predict.predict`.
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


def compare(
    with_folder: Path | str,
    without_folder: Path | str,
    truth: Path | str,
    out: Path | str,
    *,
    voters: Sequence[str] = tuple(VOTERS),
    features: Sequence[str] = (Settings.features,),
    segmenters: Sequence[str] = (Settings.segmenter,),
    settings: Settings | None = None,
    label: str | None = None,
    threshold: float = IMAGE_THRESHOLD,
    time_limit: float | None = None,
    n_jobs: int = 2,
    progress: Progress | None = None,
) -> Comparison:
    """Try every combination of voters, features and segmenters on shared segments, and write the page about them.

    Parameters
    ----------
    with_folder, without_folder
        As for `annotate`.
    truth
        As for `evaluate`.
    out
        Folder for the results; what is there is not done again.
    voters, features, segmenters
        Names of the registries.
    settings
        Everything else; its voter is the reference.
    label, threshold
        The class that counts, where the truth has several; overlap above which an image is found.
    time_limit
        Seconds that one vote may take; None: no limit.
    n_jobs, progress
        As for `annotate`.
    """
    plan = Plan(tuple(voters), tuple(features), tuple(segmenters), time_limit=time_limit)
    with draw_progress() as bar:
        comparison = run_compare(
            with_folder,
            without_folder,
            truth,
            out,
            plan,
            settings,
            label=label,
            threshold=threshold,
            n_jobs=n_jobs,
            progress=progress or bar,
        )
    write_comparison(comparison, [], f"Voters on {Path(with_folder).resolve().parent.name}")
    return comparison
