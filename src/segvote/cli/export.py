"""`segvote export`: a run in the format of another tool."""

from __future__ import annotations

import typer

from segvote.cli.app import EXIT_PARTIAL, app, format_examples
from segvote.cli.options import RUN, choice, format_path
from segvote.cli.terminal import show_progress
from segvote.inputs.bags import Problem
from segvote.io import EXPORTS, format_next_step
from segvote.io.exports.base import IMAGES, ExportOptions
from segvote.io.names import make_plain
from segvote.io.stores import is_uri


@app.command(
    epilog=format_examples(
        "segvote export out --format yolo",
        "segvote export out --format coco --instances -o dataset",
        "segvote export out --format voc --unsure 0.05",
    )
)
def export(
    run_folder: str = RUN,
    format: str = typer.Option(..., help=f"Format: {', '.join(EXPORTS)}.", **choice(EXPORTS, "export format")),
    out: str | None = typer.Option(
        None, "-o", "--out", metavar="DIR", help="Folder to write; default RUN/exports/FORMAT."
    ),
    label: str | None = typer.Option(None, help="Name of the object there; default: as in the run."),
    unsure: float = typer.Option(
        ExportOptions.unsure,
        min=0.0,
        max=1.0,
        help="Segments this close to the threshold become unsure pixels, as a share of the image's range of scores.",
    ),
    instances: bool | None = typer.Option(
        None,
        "--instances/--no-instances",
        help="Every object on its own, as cut and merged in the review, or all of an image as one; default: by the "
        "--objects of the run.",
    ),
    min_area: int = typer.Option(ExportOptions.min_area, min=1, help="Leave out objects of fewer pixels."),
    polygons: bool = typer.Option(False, "--polygons", help="Outlines instead of masks, where the format has both."),
    images: str = typer.Option(
        ExportOptions.images,
        help="Pictures beside the masks: link (hard links; copies where links cannot be made), copy, none.",
        **choice(IMAGES, "choice of images"),
    ),
    val_share: float = typer.Option(
        ExportOptions.val_share,
        min=0.0,
        max=0.99,
        help="Share of the images for validation, where the format has a split; 0: none.",
    ),
    boxes: bool = typer.Option(False, "--boxes", help="yolo: boxes instead of outlines, for detectors and Datumaro."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Write into a folder that holds something already."),
) -> None:
    """Write the masks of a run in the format of another tool."""
    from segvote import api

    left_out: list[Problem] = []
    with show_progress() as progress:
        written = api.export(
            run_folder,
            format,
            out,
            label=label,
            unsure=unsure,
            instances=instances,
            min_area=min_area,
            polygons=polygons,
            images=images,
            val_share=val_share,
            boxes=boxes,
            overwrite=overwrite,
            on_problem=left_out.append,
            progress=progress,
        )
    typer.echo(f"{format:8} {format_path(written)}")
    if not is_uri(format_path(written)) and (next_step := format_next_step(format, written, boxes)):
        typer.echo(f"{'next':8} {next_step}")
    for problem in left_out:
        typer.echo(f"left out: {make_plain(problem.reason)}", err=True)
    if left_out:
        raise typer.Exit(EXIT_PARTIAL)
