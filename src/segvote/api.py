"""The public functions: one for each command but `demo` and `info`, which calls it and writes the same files.

Every folder is a path or an address of a store (``s3://bucket/folder``); see `segvote.io.stores`. The returned object
then reads from the local copy of the folder. A function opens its folders, calls the package that does the work, and
writes the report.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segvote.errors import BadInputError
from segvote.evaluation.defaults import FEATURES, MAX_ITEMS, N_FRAMES
from segvote.inputs.bags import Problem
from segvote.io.exports.base import ExportOptions
from segvote.io.shards import JSON_LINES
from segvote.metrics.overlap import IMAGE_THRESHOLD
from segvote.opened_run import OpenedRun
from segvote.pipeline.alternatives import change_alternative
from segvote.pipeline.annotate import annotate_folders
from segvote.pipeline.call import open_call
from segvote.pipeline.classes import annotate_class_folders
from segvote.pipeline.current import bring_up_to_date
from segvote.pipeline.export import write_export
from segvote.pipeline.extent import change_extent
from segvote.pipeline.given_masks import GivenMasks
from segvote.pipeline.importing import ImportResult, import_masks
from segvote.pipeline.in_memory import ImageMask, annotate_arrays
from segvote.pipeline.model import Model
from segvote.pipeline.predict import Predictions, find_model_run, is_behind, predict_folder
from segvote.pipeline.predictor import FALSE_POSITIVE_RATE
from segvote.pipeline.update import update_run
from segvote.pipeline.workers import N_JOBS, Resources
from segvote.progress import Progress
from segvote.report import write_report
from segvote.report.classes_page import write_classes_report
from segvote.report.predictions_page import list_pictures, write_predictions_report
from segvote.run.classes import ClassRuns, open_any_run
from segvote.run.run import Run
from segvote.settings import Settings
from segvote.voters import SYSTEMS

if TYPE_CHECKING:  # packages of single commands, imported when they are called
    from segvote.evaluation.benchmark import Benchmark
    from segvote.evaluation.comparison import Comparison
    from segvote.evaluation.coseg import CosegResult
    from segvote.evaluation.evaluate import Evaluation
    from segvote.pipeline.doctor import Diagnosis
    from segvote.pipeline.explain import SegmentExplanation

__all__ = [
    "annotate",
    "annotate_classes",
    "annotate_images",
    "benchmark",
    "benchmark_coseg",
    "choose",
    "compare",
    "doctor",
    "evaluate",
    "explain",
    "export",
    "import_corrections",
    "load_run",
    "measure",
    "open_review",
    "predict",
    "set_extent",
    "update",
]


def _open_current(run: Any, resources: Resources) -> Any:
    """A run, or the one in a folder, with files and report that follow all of its corrections."""
    opened = run if isinstance(run, Run | ClassRuns) else open_any_run(run)
    current = bring_up_to_date(opened, resources)
    if current is not opened:
        _write_reports(current)
    return current


def _write_reports(run: Run | ClassRuns) -> None:
    for one in [run] if isinstance(run, Run) else run.runs.values():
        write_report(one)
    if isinstance(run, ClassRuns):
        write_classes_report(run)


def annotate(
    with_folder: Path | str,
    without_folder: Path | str,
    out: Path | str,
    settings: Settings | None = None,
    *,
    segments: Path | str | None = None,
    masks: Path | str | None = None,
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
    masks : path or str, optional
        Masks of some *with* images, which teach the vote: a folder of pictures named like the images, or a COCO file.
        A mask that fits no image, is empty or has other sides is left out, with a reason in ``record.problems``.
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
    with open_call(
        with_folder,
        without_folder,
        segments,
        masks,
        out=out,
        n_jobs=n_jobs,
        scheduler=scheduler,
        progress=progress,
        sparse=2,
    ) as call:
        shown, absent, label_maps, own_masks = call.inputs
        given = None if own_masks is None else _find_masks(own_masks)
        chosen = settings or Settings()
        run = annotate_folders(shown, absent, call.out, chosen, call.resources, label_maps, strict, given)
        write_report(run)
    return OpenedRun(run.folder.path)


def _find_masks(path: Path | str) -> GivenMasks:
    """Masks of a folder or a file of annotations."""
    from segvote.evaluation.truth import find_truth, list_truth

    if not Path(path).exists():
        raise BadInputError(f"expected masks of WITH images at {path}, found nothing; check --masks")
    readers = list_truth(path)
    return GivenMasks(readers, partial(find_truth, readers))


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
    with open_call(root, segments, out=out, n_jobs=n_jobs, scheduler=scheduler, progress=progress) as call:
        folder, label_maps = call.inputs
        runs = annotate_class_folders(folder, call.out, settings or Settings(), call.resources, label_maps, strict)
        _write_reports(runs)
    return runs


def annotate_images(
    with_images: Sequence[Any],
    without_images: Sequence[Any],
    settings: Settings | None = None,
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> list[ImageMask]:
    """Masks of the object that some images show and others do not; no file is written.

    Masks are drawn as regions or whole segments, never as lines: for those use `annotate`.

    Parameters
    ----------
    with_images, without_images : sequence
        Arrays, (h, w) or (h, w, 3) uint8, paths, or PIL images, in any mixture; none in both.
    settings : Settings, optional
        Default: those of the command line.
    n_jobs : int
        Number of processes; the answer does not depend on it.
    progress : callable, optional
        Called with step, done, total; default: a bar in a terminal or a notebook.

    Returns
    -------
    list of ImageMask
        Of the *with* images, in their order.

    Examples
    --------
    >>> import numpy as np, segvote
    >>> rng = np.random.default_rng(0)
    >>> def make_image(with_object):
    ...     image = rng.integers(90, 110, (60, 80, 3)).astype(np.uint8)
    ...     if with_object:
    ...         image[20:40, 30:50] = (200, 30, 30)
    ...     return image
    >>> quick = segvote.Settings(features="color", n_segments=30, size=80)
    >>> shown, empty = ([make_image(with_object) for _ in range(4)] for with_object in (True, False))
    >>> found = segvote.annotate_images(shown, empty, quick)
    >>> bool(found[0].mask[30, 40]), bool(found[0].mask[5, 5])
    (True, False)
    """
    with open_call(n_jobs=n_jobs, progress=progress) as call:
        return annotate_arrays(with_images, without_images, settings or Settings(), call.resources)


def update(
    run: Run | Path | str,
    *,
    with_folder: Path | str | None = None,
    without_folder: Path | str | None = None,
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
    with_folder, without_folder : path or str, optional
        Where the images are now, if they were moved.
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
    with open_call(
        with_folder,
        without_folder,
        segments,
        run=run,
        n_jobs=n_jobs,
        scheduler=scheduler,
        progress=progress,
        sparse=2,
    ) as call:
        *folders, label_maps = call.inputs
        updated = update_run(call.folder, call.resources, label_maps, strict, *folders)
        write_report(updated)
    return OpenedRun(updated.folder.path)


def set_extent(
    run: Run | Path | str, extent: int, image: str = "", *, n_jobs: int = N_JOBS, progress: Progress | None = None
) -> OpenedRun:
    """Choose how much of the object the masks of a run cover, and write its files and report again.

    Parameters
    ----------
    run : Run, path or str
        A finished run, or its folder.
    extent : int
        From 1, the most distinctive part, to 6, the whole object; the default of a run is 2.
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
    with open_call(run=run, n_jobs=n_jobs, progress=progress) as call:
        changed = change_extent(call.folder, extent, image, call.resources)
        write_report(changed)
    return OpenedRun(changed.folder.path)


def choose(
    run: Run | Path | str, alternative: str | int, *, n_jobs: int = N_JOBS, progress: Progress | None = None
) -> OpenedRun:
    """Choose what the masks of a run show, among the things that its *with* images share, and write its files again.

    Parameters
    ----------
    run : Run, path or str
        A finished run, or its folder.
    alternative : str or int
        Letter of one of `OpenedRun.alternatives`, or its place in that list from 1; A, or 1, is the default.
    n_jobs, progress
        As for `annotate`.

    Returns
    -------
    OpenedRun

    Examples
    --------
    >>> import segvote
    >>> run = segvote.load_run("out")
    >>> [one.letter for one in run.alternatives if one.is_chosen]
    ['A']
    >>> segvote.choose(run, "A", n_jobs=1).alternative
    0
    """
    with open_call(run=run, n_jobs=n_jobs, progress=progress) as call:
        changed = change_alternative(call.folder, alternative, call.resources)
        write_report(changed)
    return OpenedRun(changed.folder.path)


def predict(
    model: Model | Path | str,
    folder: Path | str,
    out: Path | str,
    *,
    false_positive_rate: float = FALSE_POSITIVE_RATE,
    n_jobs: int = N_JOBS,
    device: str | None = None,
    scheduler: str | None = None,
    strict: bool = False,
    shards: str = JSON_LINES,
    progress: Progress | None = None,
) -> Predictions:
    """Predict whether new images show the object, and draw their masks.

    A stopped prediction is continued by the same call; images of finished blocks are not read again.

    Parameters
    ----------
    model : Model, path or str
        A run folder, its ``model`` folder or a copy of that, or a `Model`.
    folder : path or str
        Images and videos, nested as you like.
    out : path or str
        Where to write masks, heat maps, ``annotations.coco.json``, ``predictions.json``,
        ``predictions.csv`` and ``report.html``.
    false_positive_rate : float
        Largest share of images without the object that may be predicted to show it.
    device : str, optional
        Where the network runs, ``auto``, ``cpu``, ``cuda`` or another; as in the training run where it is not given. A
        `Model` stays where it is.
    shards : str
        Format of the results of each block of images in ``shards``: ``jsonl``, or ``parquet``, which needs pyarrow.
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
    given: dict[str, Any] = {"n_jobs": n_jobs, "scheduler": scheduler, "progress": progress}
    if is_behind(model):
        with open_call(run=model, **given) as call:
            _open_current(find_model_run(call.folder), call.resources)
    # Tasks on a store fetch the model by themselves: one that is only in memory cannot be fetched.
    with open_call(folder, out=out, sparse=0 if isinstance(model, Model) else 1, **given) as call:
        options = false_positive_rate, device, call.resources, strict, shards
        predictions = predict_folder(model, call.inputs[0], call.out, *options)
        call.resources.fetch(list_pictures(predictions))
        write_predictions_report(predictions)
    return predictions


def load_run(folder: Path | str) -> OpenedRun:
    """Open a finished run; its files are first brought up to date with its corrections.

    Parameters
    ----------
    folder : path or str
        The ``-o`` folder of `segvote annotate`.

    Returns
    -------
    OpenedRun

    Examples
    --------
    >>> import segvote
    >>> run = segvote.load_run("out")
    >>> run.images[0].name, run.images[0].mask.shape
    ('with/with-000.png', (120, 160))
    """
    return OpenedRun(_open_current(Run(folder), Resources()).folder.path)


def open_review(run: Run | Path | str, port: int = 0, browser: bool = True) -> None:
    """Look at the masks in the browser and correct them, until Ctrl-C or the stop button of a notebook.

    Parameters
    ----------
    run : Run, path or str
        A run, or its folder; a path or an address of a store.
    port : int
        Port on 127.0.0.1; 0: any free port.
    browser : bool
        Open the page; otherwise only print its address.

    Examples
    --------
    >>> import segvote
    >>> segvote.open_review("out")  # doctest: +SKIP
    review   http://127.0.0.1:41217/…/

    A folder without a run is refused:

    >>> segvote.open_review("nowhere")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    segvote.errors.BadInputError: nowhere is not a run folder
    """
    from segvote.review.serving.server import open_browser, serve

    opened = ExitStack()

    def announce(address: str) -> None:
        print(f"review   {address}\ncorrections are saved at once; stop with Ctrl-C", flush=True)
        if browser:
            opened.enter_context(open_browser(address))

    # An interruption is the usual way to end: corrections still go to the run's store.
    with opened, open_call(run=run) as call, suppress(KeyboardInterrupt):
        serve(call.folder, port, announce)


def explain(
    run: Run | Path | str,
    image: str,
    segment: int | tuple[int, int] | str = "",
    *,
    html: Path | str | None = None,
    progress: Progress | None = None,
) -> SegmentExplanation:
    """List the votes for and against a segment; they sum to its score.

    Parameters
    ----------
    run : Run, path or str
        A finished run, or its folder.
    image : str
        Name of an image of the run.
    segment : int, (int, int) or str
        Its number, or a point (x, y) in pixels, or either as text; empty: the segment with the highest score.
    html : path or str, optional
        Write a page with pictures there.
    progress : callable, optional
        As for `annotate`.

    Returns
    -------
    SegmentExplanation

    Examples
    --------
    >>> import segvote
    >>> explanation = segvote.explain("out", "with/with-000.png", (40, 30))
    >>> total = explanation.constant + sum(line.amount for line in explanation.lines)
    >>> abs(total - explanation.score) < 1e-6
    True
    """
    from segvote.report.explanation_page import write_explanation

    with open_call(run=run, progress=progress) as call:
        opened = OpenedRun(call.folder)
        explanation = opened.explain(image, segment)
        if html is not None:
            write_explanation(html, explanation, opened)
    return explanation


def doctor(
    with_folder: Run | Path | str,
    without_folder: Path | str | None = None,
    settings: Settings | None = None,
    *,
    n_jobs: int = N_JOBS,
    progress: Progress | None = None,
) -> Diagnosis:
    """Find images that are likely mislabelled, near-duplicates, and files that cannot be read; no file is written.

    Parameters
    ----------
    with_folder : Run, path or str
        Folder of images that show the object; or, alone, a finished run or its folder.
    without_folder : path or str, optional
        Folder of images that do not.
    settings : Settings, optional
        How to segment and vote on two folders; default: those of the command line.
    n_jobs, progress
        As for `annotate`.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import segvote
    >>> len(segvote.doctor("out").images)
    12
    """
    from segvote.pipeline.doctor import diagnose_folders, diagnose_run

    if without_folder is None:
        with open_call(run=with_folder, progress=progress) as call:
            return diagnose_run(Run(call.folder))
    with open_call(with_folder, without_folder, n_jobs=n_jobs, progress=progress) as call:
        shown, absent = call.inputs
        return diagnose_folders(shown, absent, settings or Settings(), call.resources)


def export(
    run: Run | ClassRuns | Path | str,
    format: str,
    folder: Path | str | None = None,
    *,
    label: str | None = None,
    unsure: float = ExportOptions.unsure,
    instances: bool | None = None,
    min_area: int = ExportOptions.min_area,
    polygons: bool = ExportOptions.polygons,
    images: str = ExportOptions.images,
    val_share: float = ExportOptions.val_share,
    boxes: bool = ExportOptions.boxes,
    overwrite: bool = False,
    on_problem: Callable[[Problem], None] | None = None,
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
        Name of the object in the export; default: that of the run. Classes keep their names.
    unsure : float
        Segments this close to the threshold become unsure pixels where the format has them: a share of the image's
        range of scores, 0: none.
    instances : bool, optional
        Whether every object of a mask is written on its own; default: by the `objects` of the run.
    min_area : int
        Objects of fewer pixels are left out.
    polygons : bool
        Outlines instead of masks, where the format has both.
    images : {"link", "copy", "none"}
        Put the pictures where the format expects them: as hard links, or copies where links cannot be made; as copies;
        or not.
    val_share : float
        Share of the images for validation, in formats that have a split; 0: no split.
    boxes : bool
        YOLO: boxes around the objects instead of outlines, for readers of detections.
    overwrite : bool
        Write into a folder that holds something already.
    on_problem : callable, optional
        Called with the name and the reason of each image that is left out, because its file changed since; default: a
        warning.
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
    'out/exports/coco'
    """
    options = ExportOptions((), polygons, instances, min_area, images, val_share, boxes, unsure)
    with open_call(run=run, out=folder, progress=progress) as call:
        opened = _open_current(call.folder, call.resources)
        report, progress = on_problem or _warn_of_problem, call.resources.progress
        return write_export(opened, format, call.out, options, label, overwrite, report, progress)


def _warn_of_problem(problem: Problem) -> None:
    warnings.warn(f"left out: {problem.reason}", stacklevel=4)


def measure(
    run: Run | ClassRuns | Path | str, path: Path | str | None = None, *, progress: Progress | None = None
) -> dict[str, list[Any]]:
    """Measure every object of the masks of a run, and write the table.

    Parameters
    ----------
    run : Run, ClassRuns, path or str
        A finished run, a run on several classes, or the folder of either.
    path : path or str, optional
        File to write, ``.csv`` or ``.parquet``, which needs pyarrow; default ``measurements.csv`` in the run folder.
    progress : callable, optional
        As for `annotate`.

    Returns
    -------
    dict of str to list
        The columns, ready for ``pandas.DataFrame``: image, label, number of the object in its image, area in pixels,
        box, centre, length and width of the ellipse with the same moments, its orientation in degrees (0 horizontal,
        counter-clockwise), mean colour, and the side of a pixel in millimetres where the image states it, else None.

    Examples
    --------
    >>> import segvote
    >>> columns = segvote.measure("out")
    >>> len(columns["area"]) == len(columns["image"]) > 0
    True
    """
    from segvote.pipeline.measure import FILE_NAME, measure_run, write_measurements

    with open_call(run=run, progress=progress) as call:
        columns = measure_run(_open_current(call.folder, call.resources), call.resources.progress)
        write_measurements(columns, Path(call.folder) / FILE_NAME if path is None else path)
        return columns


def import_corrections(
    run: Run | Path | str,
    path: Path | str,
    *,
    label: str | None = None,
    confirm: bool = False,
    progress: Progress | None = None,
) -> ImportResult:
    """Import the masks of a file that another tool wrote.

    A mask that differs from the run's is taken to the pixel, holes included. A mask of another size than the image
    counts as changed if it changes the label of a segment. Nothing is written before the whole file has been read, and
    one undo takes the whole file back.

    Parameters
    ----------
    run : Run, path or str
        A finished run, or its folder.
    path : path or str
        COCO, CVAT, Label Studio or labelme file, folder of labelme files, or ZIP with one of them.
    label : str, optional
        The class that counts; default: the run's, or the only one of the file.
    confirm : bool
        Accept images that are as in the run, too.
    progress : callable, optional
        As for `annotate`.

    Returns
    -------
    ImportResult

    Examples
    --------
    >>> import segvote
    >>> file = segvote.export("out", "coco", "shown")
    >>> imported = segvote.import_corrections("out", file)
    >>> len(imported.corrected), len(imported.same)
    (0, 12)
    """
    with open_call(run=run, progress=progress) as call:
        return import_masks(Run(call.folder), path, label, confirm, call.resources.progress)


def evaluate(
    run: Run | Path | str,
    truth: Path | str,
    *,
    label: str | None = None,
    threshold: float = IMAGE_THRESHOLD,
    csv: Path | str | None = None,
    html: Path | str | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Masks of a run against truth: CorLoc, IoU, AP and boundaries.

    Parameters
    ----------
    run : Run, path or str
        A finished run, or its folder.
    truth : path or str
        A folder of masks or boxes, or a file of annotations; ``docs/evaluate.md`` lists the kinds.
    label : str, optional
        The class that counts, where the truth has several.
    threshold : float
        Overlap above which an image counts as found: 0.5 for images in the paper, 0.125 for videos.
    csv, html : path or str, optional
        Write a table of all images, and a page, there.
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
    from segvote.evaluation.evaluate import evaluate_run
    from segvote.report.experiments import write_evaluation_page, write_evaluation_table

    with open_call(truth, run=run, progress=progress) as call:
        opened = _open_current(Run(call.folder), call.resources)
        evaluation = evaluate_run(opened, call.inputs[0], label, threshold, call.resources.progress)
    if csv is not None:
        write_evaluation_table(evaluation, csv)
    if html is not None:
        write_evaluation_page(evaluation, html, Path(call.folder).resolve().name)
    return evaluation


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
    voter_options: Mapping[str, Mapping[str, Any]] | None = None,
    stress: bool = False,
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
        Folder for the results; finished ones there are kept.
    voters, features, segmenters : sequence of str
        Names of the registries; a voter with ``+finish`` behind its name is followed by the method's re-vote and
        linear classifier.
    settings : Settings, optional
        Everything else; its voter is the reference.
    label : str, optional
        The class that counts, where the truth has several.
    threshold : float
        Overlap above which an image is found.
    voter_options : mapping, optional
        Name of a voter to parameters of its class.
    stress : bool
        Robustness curves, too, with the first features and segmenter: fewer images, misfiled images, label noise.
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
    from segvote.evaluation.compare import Experiment, compare_combinations, list_combinations
    from segvote.evaluation.stress import measure_stress
    from segvote.evaluation.truth import list_truth
    from segvote.report.experiments import write_comparison
    from segvote.report.pictures import make_examples

    readers, folders = list_truth(truth, label), (Path(with_folder), Path(without_folder))
    combinations = list_combinations(voters, features, segmenters)
    with open_call(n_jobs=n_jobs, progress=progress) as call:
        options = settings or Settings(), voter_options or {}, threshold, call.resources
        experiment = Experiment(folders, readers, Path(out), combinations, *options)
        comparison = compare_combinations(experiment)
        points = measure_stress(experiment) if stress else []
    title = f"Voters on {folders[0].resolve().parent.name}"
    write_comparison(comparison, title, make_examples(*folders, readers), points)
    return comparison


def benchmark(
    name: str,
    path: Path | str,
    out: Path | str,
    *,
    class_name: str | None = None,
    voters: Sequence[str] | None = None,
    features: Sequence[str] = FEATURES,
    as_paper: bool = False,
    segmenter: str | None = None,
    n_segments: int = Settings.n_segments,
    voter_options: Mapping[str, Mapping[str, Any]] | None = None,
    n_frames: int = N_FRAMES,
    max_items: int = MAX_ITEMS,
    n_jobs: int = N_JOBS,
    progress: Progress | None = None,
) -> Benchmark:
    """Run the experiments of a public data set on disk, and write the page that puts them beside the paper's figures.

    Parameters
    ----------
    name : str
        A name of `segvote.datasets.DATASETS`.
    path : path or str
        Its folder.
    out : path or str
        Folder for the results, ``benchmark.html``, ``.md`` and ``.json``; finished results there are kept.
    class_name : str, optional
        One class only.
    voters, features : sequence of str
        Combined as in `compare`; without `voters`, the paper's methods and the method.
    as_paper : bool
        The paper's recipe: gPb segments, VGG-19 at 224 x 224 (VGG-16 without its weights), SIFT words.
    segmenter : str, optional
        A name of `segvote.SEGMENTERS`; default: that of the recipe.
    n_segments : int
        Segments per image.
    voter_options : mapping, optional
        Name of a voter to parameters of its class.
    n_frames : int
        Frames used of each video, as images.
    max_items : int
        Maximum number of images or videos of each kind and class.
    n_jobs, progress
        As for `annotate`.

    Returns
    -------
    Benchmark

    Examples
    --------
    >>> import segvote
    >>> found = segvote.benchmark("pittcar", "PittCar", "results", as_paper=True)  # doctest: +SKIP

    An unknown data set is refused:

    >>> segvote.benchmark("nothing", "PittCar", "results")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    segvote.errors.UnknownNameError: unknown data set 'nothing'; ...
    """
    from segvote.evaluation.benchmark import benchmark_classes, choose_recipe
    from segvote.report.experiments import write_benchmark

    rows, combinations, settings = choose_recipe(voters, features, as_paper, segmenter, n_segments)
    with open_call(n_jobs=n_jobs, progress=progress) as call:
        done = benchmark_classes(
            name,
            path,
            out,
            combinations,
            settings,
            rows=rows,
            class_name=class_name,
            n_frames=n_frames,
            max_items=max_items,
            voter_options=voter_options,
            resources=call.resources,
        )
    write_benchmark(done, out)
    return done


def benchmark_coseg(
    path: Path | str,
    out: Path | str,
    settings: Settings | None = None,
    *,
    class_name: str | None = None,
    max_items: int = MAX_ITEMS,
    n_jobs: int = N_JOBS,
    progress: Progress | None = None,
) -> list[CosegResult]:
    """Annotate each class of a co-segmentation set on disk; write pixel accuracy and Jaccard index of the masks.

    Parameters
    ----------
    path : path or str
        A folder for each class, with images ``STEM.jpg`` and masks ``STEM.png``.
    out : path or str
        Folder for the runs, ``coseg.md`` and ``coseg.json``; finished runs there are kept.
    settings : Settings, optional
        As for `annotate`.
    class_name : str, optional
        One class only.
    max_items : int
        Maximum number of images of each kind and class.
    n_jobs, progress
        As for `annotate`.

    Returns
    -------
    list of CosegResult
        Name, number of images, `p` and `j` of each class.

    Examples
    --------
    >>> import segvote
    >>> found = segvote.benchmark_coseg("VOC", "results")  # doctest: +SKIP
    """
    from segvote.evaluation.coseg import measure_coseg
    from segvote.report.experiments import write_coseg

    with open_call(n_jobs=n_jobs, progress=progress) as call:
        results = measure_coseg(
            path, out, settings, class_name=class_name, max_items=max_items, resources=call.resources
        )
    write_coseg(results, out)
    return results
