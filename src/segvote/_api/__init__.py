"""Public functions that write a report: the steps do not know the report.

Every folder is a path or an address of a store (``s3://bucket/folder``); see `segvote.io.stores`. The returned object
then reads from the local copy of the folder.
"""

from __future__ import annotations

from pathlib import Path

from segvote._api.opened import OpenedRun
from segvote.io.progress_bar import choose_progress
from segvote.io.stores import open_folders
from segvote.progress import Progress
from segvote.report import write_report
from segvote.report.classes_page import write_classes_report
from segvote.run.classes import ClassRuns
from segvote.run.run import Run, open_run
from segvote.run.settings import Settings
from segvote.steps.annotate import annotate_folders, update_run
from segvote.steps.classes import annotate_class_folders
from segvote.steps.extent import change_extent
from segvote.steps.workers import N_JOBS, Resources, name_in_full

__all__ = ["annotate", "annotate_classes", "set_extent", "update"]


def annotate(
    with_folder: Path | str,
    without_folder: Path | str,
    out: Path | str,
    settings: Settings | None = None,
    *,
    segments: Path | str | None = None,
    n_jobs: int = N_JOBS,
    scheduler: str | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> OpenedRun:
    """Write masks of the object that one folder of images shows and the other does not, and a report.

    Parameters
    ----------
    with_folder, without_folder : path or str
        Folders of images, nested as you like; paths or addresses of a store.
    out : path or str
        The run folder to write; an unfinished or earlier run of the same two folders is continued.
    settings : Settings, optional
        Parameters of the method; default: those of the command line.
    segments : path or str, optional
        Folder of your own label maps (PNG or npy) or contour maps (ucm2 in .mat), named like the images, instead of a
        segmenter.
    n_jobs : int
        Number of processes; does not change the result.
    scheduler : str, optional
        Address of a Dask scheduler (``tcp://host:8786``), whose workers are used instead of processes.
    strict : bool
        An unreadable image is an error instead of a line in the report.
    progress : callable, optional
        Called with step, done, total; default: a bar in a terminal or a notebook.

    Returns
    -------
    OpenedRun

    Examples
    --------
    >>> import segvote
    >>> quick = segvote.Settings(features="color", n_segments=30, size=120)
    >>> run = segvote.annotate("with", "without", "found", quick, n_jobs=1)
    >>> len(run), run.images[0].mask.shape
    (12, (120, 160))
    """
    inputs, outs = name_in_full(scheduler, with_folder, without_folder, segments), name_in_full(scheduler, out)
    with (
        choose_progress(progress) as report,
        open_folders(inputs, outs, report) as ((one, other, own), (target,)),
    ):
        resources = Resources(n_jobs, scheduler, report)
        run = annotate_folders(one, other, target, settings or Settings(), resources, own, strict)
        write_report(run)
    return OpenedRun(run.folder.path)


def annotate_classes(
    root: Path | str,
    out: Path | str,
    settings: Settings | None = None,
    *,
    segments: Path | str | None = None,
    n_jobs: int = N_JOBS,
    scheduler: str | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> ClassRuns:
    """Write masks of several objects at once, and reports.

    Parameters
    ----------
    root : path or str
        Holds one folder of images for each class, named like it, and perhaps ``none`` with images of no class. An image
        that shows two of them lies in both folders.
    out : path or str
        The folder to write; an unfinished or earlier run on the same root is continued.
    settings : Settings, optional
        Parameters of the method; the labels are the names of the folders.
    segments, n_jobs, scheduler, strict, progress
        As for `annotate`.

    Returns
    -------
    ClassRuns

    Examples
    --------
    >>> import segvote
    >>> quick = segvote.Settings(features="color", n_segments=30, size=120)
    >>> runs = segvote.annotate_classes("root", "classes", quick, n_jobs=1)  # root/cup and root/none
    >>> runs.names, len(runs.images)
    (('cup',), 12)
    """
    inputs, outs = name_in_full(scheduler, root, segments), name_in_full(scheduler, out)
    with (
        choose_progress(progress) as report,
        open_folders(inputs, outs, report) as ((folder, own), (target,)),
    ):
        resources = Resources(n_jobs, scheduler, report)
        runs = annotate_class_folders(folder, target, settings or Settings(), resources, own, strict)
        for run in runs.runs.values():
            write_report(run)
        write_classes_report(runs)
    return runs


def update(
    run: Run | Path | str,
    *,
    segments: Path | str | None = None,
    n_jobs: int = N_JOBS,
    scheduler: str | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> OpenedRun:
    """Update a run to the images that are in its two folders now and to its corrections.

    New images are segmented, masks of removed images are deleted, and all vote again.

    Parameters
    ----------
    run : Run, path or str
        A run, or its folder; it may be unfinished.
    segments : path or str, optional
        Folder of your own label maps, if the run was made with one: for all images.
    n_jobs, scheduler, strict, progress
        As for `annotate`.

    Returns
    -------
    OpenedRun

    Examples
    --------
    >>> import segvote
    >>> len(segvote.update("out", n_jobs=1))
    12
    """
    given, maps = name_in_full(scheduler, run.folder.path if isinstance(run, Run) else run, segments)
    with (
        choose_progress(progress) as report,
        open_run(given, report) as folder,
        open_folders([maps], progress=report) as ((own,), _),
    ):
        updated = update_run(folder, Resources(n_jobs, scheduler, report), own, strict)
        write_report(updated)
    return OpenedRun(updated.folder.path)


def set_extent(
    run: Run | Path | str, level: int, image: str = "", *, n_jobs: int = N_JOBS, progress: Progress | None = None
) -> OpenedRun:
    """Choose how much of the object the masks of a run cover, and write its files and report again.

    Parameters
    ----------
    run : Run, path or str
        A finished run, or its folder.
    level : int
        From 1, the most telling part, to 6, the whole object; the default of a run is 2.
    image : str
        Name of one image; empty: all images.
    n_jobs, progress
        As for `annotate`.

    Returns
    -------
    OpenedRun

    Examples
    --------
    >>> import segvote
    >>> wider = segvote.set_extent("out", 3, n_jobs=1)
    >>> wider.extent, bool((wider.images[0].mask >= wider.images[0].masks[0]).all())
    (3, True)
    """
    with choose_progress(progress) as report, open_run(run, report) as folder:
        changed = change_extent(folder, level, image, Resources(n_jobs, progress=report))
        write_report(changed)
    return OpenedRun(changed.folder.path)
