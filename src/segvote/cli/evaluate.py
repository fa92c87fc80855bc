"""`segvote evaluate`: a run against truth."""

from __future__ import annotations

from pathlib import Path

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.options import RUN
from segvote.cli.terminal import show_progress
from segvote.errors import BadInputError
from segvote.metrics.overlap import IMAGE_THRESHOLD


@app.command(
    epilog=format_examples(
        "segvote evaluate out --truth masks",
        "segvote evaluate out --truth truth.json --json",
        "segvote evaluate out --truth masks --html evaluation.html --csv images.csv",
        "segvote evaluate out --from-review",
    )
)
def evaluate(
    run_folder: str = RUN,
    truth: str | None = typer.Option(
        None,
        metavar="PATH",
        help="Folder of masks named like the images (255 object, 128 ignore, 0 background), VOC folder, COCO or other "
        "annotation file, or boxes (VOC XML, COCO).",
    ),
    from_review: bool = typer.Option(
        False, "--from-review", help="Instead of --truth: the expected IoU by the images finished in `segvote review`."
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
    from segvote import api
    from segvote.io.tables import format_json
    from segvote.report.experiments import list_evaluation_rows, list_extent_rows
    from segvote.report.tables import format_text

    if (truth is None) != from_review:
        raise BadInputError("expected --truth PATH or --from-review, got both or neither; give one of them")
    if truth is None:
        print_estimate(run_folder, as_json)
        return
    with show_progress() as progress:
        evaluation = api.evaluate(
            run_folder, truth, label=label, threshold=threshold, csv=csv, html=html, progress=progress
        )
    if as_json:
        typer.echo(format_json(evaluation.to_dict()).rstrip())
        return
    typer.echo(format_text(list_evaluation_rows(evaluation)))
    if evaluation.extents:
        note = "(chosen: the masks; other extents by whole segments, masks are drawn finer)"
        typer.echo(f"\n{format_text(list_extent_rows(evaluation))}\n{note}")


def print_estimate(run_folder: str, as_json: bool) -> None:
    """Print the expected IoU of the images that were not finished, after a vote with all corrections."""
    from msgspec.structs import asdict

    from segvote import api
    from segvote.io.tables import format_json
    from segvote.run.estimate import format_lesson

    with show_progress() as progress:
        run = api.update(run_folder, progress=progress)
    estimate = run.record.estimate
    if estimate is None or estimate.after is None:
        raise BadInputError("expected at least two finished images; accept some in `segvote review`, best by *Audit*")
    lines = f"{format_lesson(estimate)}\n{run.format_estimate()}"
    typer.echo(format_json(asdict(estimate)).rstrip() if as_json else lines)
