"""The Python face: the commands as functions, with all they leave behind.

Every folder is a path or an address of a store (``s3://bucket/folder``); see `segvote.io.stores`. What is
returned then reads from the local copy of the folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from segvote._api.opened import OpenedRun
from segvote.evaluation.compare import Comparison, Plan
from segvote.evaluation.compare import compare as run_compare
from segvote.evaluation.evaluate import Evaluation
from segvote.evaluation.evaluate import evaluate as run_evaluate
from segvote.io.progress_bar import draw_progress
from segvote.io.stores import fetch_folder, is_uri, open_folders
from segvote.metrics.overlap import IMAGE_THRESHOLD
from segvote.progress import Progress
from segvote.report import write_report
from segvote.report.classes_page import write_classes_report
from segvote.report.experiment_pages import write_comparison
from segvote.run.classes.runs import ClassRuns
from segvote.run.run import Run, open_run
from segvote.run.settings import Settings
from segvote.steps.annotate import annotate as run_annotate
from segvote.steps.classes.annotate import annotate_classes as run_annotate_classes
from segvote.steps.export import export as run_export
from segvote.steps.prediction.model import Model
from segvote.steps.prediction.predict import FALSE_POSITIVE_RATE, Predictions
from segvote.steps.prediction.predict import predict as run_predict
from segvote.steps.resources import N_JOBS
from segvote.steps.update import update as run_update
from segvote.voters import SYSTEMS

# Sub-folders of a run that its model does without.
NOT_OF_MODEL = ("exports/", "features/", "heatmaps/", "masks/", "segments/", "votes/")

__all__ = ["annotate", "annotate_classes", "compare", "evaluate", "export", "predict", "update"]


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
    """Masks of the object that one folder of images shows and the other does not, and the report about them.

    Parameters
    ----------
    with_folder, without_folder : path or str
        Folders of images, nested as you like; paths or addresses of a store.
    out : path or str
        The run folder to write; an unfinished or earlier run of the same two folders is continued.
    settings : Settings, optional
        How; default: as the command line's.
    segments : path or str, optional
        Folder of your own label maps (PNG or npy) or contour maps (ucm2 in .mat), named like the images; default:
        images are segmented.
    n_jobs : int
        Number of processes; the answer does not depend on it.
    scheduler : str, optional
        Address of a Dask scheduler (``tcp://host:8786``), whose workers are used instead of processes.
    strict : bool
        An unreadable image is an error instead of a line in the report.
    progress : callable, optional
        Called with step, done, total; default: a bar where somebody watches, in a terminal or a notebook.

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
    inputs, outs = _name_in_full(scheduler, with_folder, without_folder, segments), _name_in_full(scheduler, out)
    with (
        draw_progress() as bar,
        open_folders(inputs, outs, progress or bar) as ((one, other, own), (target,)),
    ):
        run = run_annotate(
            one,
            other,
            target,
            settings,
            segments=own,
            n_jobs=n_jobs,
            scheduler=scheduler,
            strict=strict,
            progress=progress or bar,
        )
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
    """Masks of several objects at once, and the reports about them.

    Parameters
    ----------
    root : path or str
        Holds one folder of images for each class, named like it, and perhaps ``none`` with images of no class. An image
        that shows two of them lies in both folders.
    out : path or str
        The folder to write; an unfinished or earlier run on the same root is continued.
    settings : Settings, optional
        How; the labels are the names of the folders.
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
    inputs, outs = _name_in_full(scheduler, root, segments), _name_in_full(scheduler, out)
    with (
        draw_progress() as bar,
        open_folders(inputs, outs, progress or bar) as ((folder, own), (target,)),
    ):
        runs = run_annotate_classes(
            folder,
            target,
            settings,
            segments=own,
            n_jobs=n_jobs,
            scheduler=scheduler,
            strict=strict,
            progress=progress or bar,
        )
        for run in runs.runs.values():
            write_report(run)
        write_classes_report(runs)
    return runs


def update(
    run: Run | Path | str,
    *,
    add_with: Iterable[Path | str] = (),
    add_without: Iterable[Path | str] = (),
    remove: Iterable[str] = (),
    restore: Iterable[str] = (),
    segments: Path | str | None = None,
    n_jobs: int = N_JOBS,
    scheduler: str | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> OpenedRun:
    """Add images to a run or take some out, and write its report anew; without either, look again at its folders.

    Parameters
    ----------
    run : Run, path or str
        A run, or its folder; it may be unfinished.
    add_with, add_without : iterable of path or str
        Folders of more images. They stay where they are and are part of the run from then on.
    remove : iterable of str
        Names of images that are to be left out. The files stay where they are; masks and heat maps go.
    restore : iterable of str
        Names of images that were removed earlier and are to come back.
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
    >>> run = segvote.load_run("out")
    >>> len(segvote.update(run, remove=[run.images[0].name], n_jobs=1)) - len(run)
    -1
    """
    add_with, add_without = list(add_with), list(add_without)
    (given,) = _name_in_full(scheduler, run.folder.path if isinstance(run, Run) else run)
    inputs = _name_in_full(scheduler, *add_with, *add_without, segments)
    with (
        draw_progress() as bar,
        open_run(given, progress or bar) as folder,
        open_folders(inputs, progress=progress or bar) as ((*added, own), _),
    ):
        updated = run_update(
            folder,
            add_with=added[: len(add_with)],
            add_without=added[len(add_with) :],
            remove=remove,
            restore=restore,
            segments=own,
            n_jobs=n_jobs,
            scheduler=scheduler,
            strict=strict,
            progress=progress or bar,
        )
        write_report(updated)
    return OpenedRun(updated.folder.path)


def predict(
    model: Model | Path | str,
    folder: Path | str,
    out: Path | str,
    *,
    false_positive_rate: float = FALSE_POSITIVE_RATE,
    n_jobs: int = N_JOBS,
    scheduler: str | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Predictions:
    """Say of images never seen whether they show the object, and draw it.

    Parameters
    ----------
    model : Model, path or str
        A run folder, its ``model`` folder wherever it lies now, or a `Model`.
    folder : path or str
        Images and videos, nested as you like.
    out : path or str
        Where to write masks, heat maps, ``annotations.coco.json``, ``predictions.json`` and ``predictions.csv``.
    false_positive_rate : float
        Largest share of images without the object that may be predicted to show it.
    n_jobs, scheduler, strict, progress
        As for `annotate`.

    Returns
    -------
    Predictions

    Examples
    --------
    >>> import segvote
    >>> found = segvote.predict("out", "without", "predicted", false_positive_rate=0.2, n_jobs=1)
    >>> len(found), found.images[0].contains
    (6, False)
    """
    inputs, outs = _name_in_full(scheduler, folder), _name_in_full(scheduler, out)
    with (
        draw_progress() as bar,
        open_folders(inputs, outs, progress or bar) as ((images,), (target,)),
    ):
        return run_predict(
            fetch_folder(str(model), progress or bar, NOT_OF_MODEL) if is_uri(model) else model,
            images,
            target,
            false_positive_rate=false_positive_rate,
            n_jobs=n_jobs,
            scheduler=scheduler,
            strict=strict,
            progress=progress or bar,
        )


def _name_in_full(scheduler: str | None, *folders: Any) -> list[Any]:
    """Absolute paths where workers of a scheduler read them, as these may have been started in any folder."""
    if scheduler is None:
        return list(folders)
    return [Path(one).resolve() if isinstance(one, str | Path) and not is_uri(one) else one for one in folders]


def evaluate(
    run: Run | Path | str,
    truth: Path | str,
    *,
    label: str | None = None,
    threshold: float = IMAGE_THRESHOLD,
    progress: Progress | None = None,
) -> Evaluation:
    """Masks of a run against truth: CorLoc, IoU, AP and boundaries.

    Parameters
    ----------
    run : Run, path or str
        A finished run, or its folder.
    truth : path or str
        A folder of masks or boxes, or a file of annotations; ``docs/evaluation.md`` lists the kinds.
    label : str, optional
        The class that counts, where the truth has several.
    threshold : float
        Overlap above which an image counts as found: 0.5 for images in the paper, 0.125 for videos.
    progress : callable, optional
        As for `annotate`.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import segvote
    >>> figures = segvote.evaluate("out", "masks").to_dict()
    >>> figures["n_images"], figures["miou"] <= figures["limit_miou"]
    (6, True)
    """
    with (
        draw_progress() as bar,
        open_run(run, progress or bar) as folder,
        open_folders([truth], progress=progress or bar) as ((masks,), _),
    ):
        opened = folder if isinstance(folder, Run) else Run(folder)
        return run_evaluate(opened, masks, progress or bar, label=label, threshold=threshold)


def export(
    run: Run | ClassRuns | Path | str,
    format: str,
    folder: Path | str | None = None,
    *,
    label: str | None = None,
    unsure: float = 0.0,
    instances: bool = False,
    min_area: int = 1,
    polygons: bool = False,
    copy_images: bool = False,
    nested: bool = False,
    val_share: float = 0.0,
    boxes: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write the masks of a run in the format of another tool.

    Parameters
    ----------
    run : Run, ClassRuns, path or str
        A finished run, a run on several classes, or the folder of either.
    format : str
        A name of `segvote.EXPORTS`.
    folder : path or str, optional
        Where to write; default ``exports/FORMAT`` in the run folder.
    label : str, optional
        What the object is called there; default: what the run calls it. Classes keep their names.
    unsure : float
        Segments this close to the threshold become unsure pixels where the format has them: a share of the image's
        range of scores, 0: none.
    instances : bool
        Every connected region is an object of its own.
    min_area : int
        With `instances`, regions of fewer pixels are left out.
    polygons : bool
        Outlines instead of masks, where the format has both.
    copy_images : bool
        Put the pictures where the format expects them.
    nested : bool
        ``yolo``: keep the images' folders instead of one flat folder.
    val_share : float
        ``yolo``: part of the images for validation.
    boxes : bool
        YOLO: boxes around the objects instead of outlines, for readers of detections.
    overwrite : bool
        Write into a folder that holds something already.
    progress : callable, optional
        As for `annotate`.

    Returns
    -------
    Path
        The file or folder to open with that tool.

    Examples
    --------
    >>> import segvote
    >>> segvote.export("out", "coco", label="cup").as_posix()
    'out/exports/coco/annotations/instances_default.json'
    """
    with (
        draw_progress() as bar,
        open_run(run, progress or bar) as opened,
        open_folders(outs=[folder], progress=progress or bar) as (_, (target,)),
    ):
        return run_export(
            opened,
            format,
            target,
            label=label,
            unsure=unsure,
            instances=instances,
            min_area=min_area,
            polygons=polygons,
            copy_images=copy_images,
            nested=nested,
            val_share=val_share,
            boxes=boxes,
            overwrite=overwrite,
            progress=progress or bar,
        )


def compare(
    with_folder: Path | str,
    without_folder: Path | str,
    truth: Path | str,
    out: Path | str,
    *,
    voters: Sequence[str] = SYSTEMS,
    features: Sequence[str] = (Settings.features,),
    segmenters: Sequence[str] = (Settings.segmenter,),
    settings: Settings | None = None,
    label: str | None = None,
    threshold: float = IMAGE_THRESHOLD,
    time_limit: float | None = None,
    n_jobs: int = N_JOBS,
    progress: Progress | None = None,
) -> Comparison:
    """Try every combination of voters, features and segmenters on shared segments, and write the page about them.

    Parameters
    ----------
    with_folder, without_folder : path or str
        Folders of images.
    truth : path or str
        As for `evaluate`.
    out : path or str
        Folder for the results; what is there is not done again.
    voters, features, segmenters : sequence of str
        Names of the registries.
    settings : Settings, optional
        Everything else; its voter is the reference.
    label : str, optional
        The class that counts, where the truth has several.
    threshold : float
        Overlap above which an image is found.
    time_limit : float, optional
        Seconds that one vote may take; default: no limit.
    n_jobs : int
        Number of processes.
    progress : callable, optional
        As for `annotate`.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import segvote
    >>> folders = "with", "without", "masks", "compared"
    >>> quick = segvote.Settings(features="color", n_segments=30, size=120)
    >>> found = segvote.compare(*folders, voters=["ekde", "negmin"], features=["color"], settings=quick, n_jobs=1)
    >>> [one.combination.voter for one in found.results]
    ['ekde', 'negmin']
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
