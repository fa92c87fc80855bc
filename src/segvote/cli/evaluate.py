"""`segvote evaluate`: a run against truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.options import RUN
from segvote.cli.terminal import show_progress
from segvote.io.stores import find_local_path
from segvote.metrics.overlap import IMAGE_THRESHOLD, VIDEO_THRESHOLD

if TYPE_CHECKING:
    from segvote.evaluation.evaluate import Evaluation

CSV_COLUMNS = ("name", "iou", "limit", "boundary_f", "pixel_f", "found", "n_true", "n_marked", "n_matched")


@app.command(
    epilog=format_examples(
        "segvote evaluate out --truth masks",
        "segvote evaluate out --truth truth.json --json",
        "segvote evaluate out --truth masks --html evaluation.html --csv images.csv",
    )
)
def evaluate(
    run_folder: str = RUN,
    truth: str = typer.Option(
        ...,
        metavar="PATH",
        help="Folder of masks named like the images (255 object, 128 ignore, 0 background), VOC folder, COCO or other "
        "annotation file, or boxes (VOC XML, COCO, CSV).",
    ),
    label: str | None = typer.Option(None, help="The class that counts, where the truth has several."),
    threshold: float = typer.Option(
        IMAGE_THRESHOLD, min=0.0, max=1.0, help="Overlap above which an image counts as found; 0.125 for videos."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    csv: Path | None = typer.Option(None, metavar="FILE", help="Write a table of all images there."),
    html: Path | None = typer.Option(None, metavar="FILE", help="Write a page there."),
) -> None:
    """Measure a run: CorLoc, IoU, AP, boundaries and single objects, beside the limit that its segments set."""
    from segvote.evaluation.evaluate import evaluate as run_evaluate
    from segvote.io.tables import format_json, write_csv
    from segvote.report.evaluation import write_evaluation_page

    with show_progress() as progress:
        evaluation = run_evaluate(run_folder, truth, label=label, threshold=threshold, progress=progress)
    if csv is not None:
        write_csv(csv, evaluation.list_rows(), CSV_COLUMNS)
    if html is not None:
        write_evaluation_page(evaluation, html, find_local_path(run_folder).resolve().name)
    typer.echo(format_json(evaluation.to_dict()).rstrip() if as_json else format_evaluation(evaluation))


def format_evaluation(evaluation: Evaluation) -> str:
    """A small table: figure, interval, limit of the segments."""
    figures = evaluation.to_dict()
    rows = [
        ("", "result", "95 % interval", "limit of the segments"),
        ("CorLoc", *_format_row(figures, "corloc")),
        ("mean IoU", *_format_row(figures, "miou")),
        ("segment AP", f"{figures['segment_ap']:.3f}", "", ""),
        ("pixel AP", f"{figures['pixel_ap']:.3f}", "", ""),
        ("boundary F", _format_known(figures["boundary_f"]), "", ""),
        ("2 px prec.", _format_known(figures["pixel_precision"]), "", ""),
        ("2 px recall", _format_known(figures["pixel_recall"]), "", ""),
        ("2 px F", _format_known(figures["pixel_f"]), "", ""),
        *_list_instance_rows(figures),
        ("images", f"{figures['n_images']}", "", ""),
        *_list_video_rows(figures),
    ]
    lines = [f"{name:13}{value:>7}  {interval:>16}  {limit:>22}".rstrip() for name, value, interval, limit in rows]
    return "\n".join([*lines, *_list_extent_lines(evaluation)])


def _list_extent_lines(evaluation: Evaluation) -> list[str]:
    """CorLoc and mean IoU at every extent; nothing for runs with videos."""
    if not evaluation.extents:
        return []
    lines = ["", "extent          CorLoc  mean IoU  (by whole segments; masks are drawn finer)"]
    for one in evaluation.extents:
        name = f"{one.level}{' (chosen)' if one.chosen else ''}"
        lines.append(f"{name:13}{one.corloc:>9.3f}{one.miou:>10.3f}")
    return lines


def _format_known(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.3f}"


def _list_instance_rows(figures: dict) -> list[tuple[str, str, str, str]]:
    """Single objects found, of how many; nothing where the truth is boxes or videos."""
    if not figures.get("n_instances"):
        return []
    precision = figures["instance_precision"]
    return [
        ("inst. recall", f"{figures['instance_recall']:.3f}", f"of {figures['n_instances']} true", ""),
        (
            "inst. precis.",
            _format_known(precision),
            f"of {figures['n_marked_instances']} marked",
            "",
        ),
    ]


def _list_video_rows(figures: dict) -> list[tuple[str, str, str, str]]:
    """Videos have a criterion of their own, on their whole volume, and overlaps frame by frame."""
    if not figures.get("n_videos"):
        return []
    return [
        ("videos", f"{figures['n_videos']}", "", ""),
        ("video CorLoc", f"{figures['video_corloc']:.3f}", f"volume > {VIDEO_THRESHOLD:g}", ""),
        ("frame IoU", f"{figures['frame_miou']:.3f}", "", ""),
    ]


def _format_row(figures: dict, name: str) -> tuple[str, str, str]:
    interval = f"{figures[name + '_low']:.3f} .. {figures[name + '_high']:.3f}"
    return f"{figures[name]:.3f}", interval, f"{figures['limit_' + name]:.3f}"
