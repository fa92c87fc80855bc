"""`segvote evaluate`: a run against truth."""

from __future__ import annotations

from pathlib import Path

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.options import RUN
from segvote.cli.terminal import show_progress
from segvote.io.stores import find_local_path
from segvote.metrics.overlap import IMAGE_THRESHOLD

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
        "annotation file, or boxes (VOC XML, COCO).",
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
    from segvote.report.experiments import list_evaluation_rows, list_extent_rows, write_evaluation_page
    from segvote.report.tables import format_text

    with show_progress() as progress:
        evaluation = run_evaluate(run_folder, truth, label=label, threshold=threshold, progress=progress)
    if csv is not None:
        write_csv(csv, evaluation.list_rows(), CSV_COLUMNS)
    if html is not None:
        write_evaluation_page(evaluation, html, find_local_path(run_folder).resolve().name)
    if as_json:
        typer.echo(format_json(evaluation.to_dict()).rstrip())
        return
    typer.echo(format_text(list_evaluation_rows(evaluation)))
    if evaluation.extents:
        typer.echo(f"\n{format_text(list_extent_rows(evaluation))}\n(extents by whole segments; masks are drawn finer)")
