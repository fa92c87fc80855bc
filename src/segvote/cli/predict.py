"""`segvote predict`: the learned decision on new images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.options import JOBS, OUTPUT, SCALE, SCHEDULER, STRICT, choice, format_path, option
from segvote.cli.terminal import show_progress
from segvote.io.names import make_plain
from segvote.io.shards import JSON_LINES, SHARDS
from segvote.pipeline.predictor import FALSE_POSITIVE_RATE

if TYPE_CHECKING:
    from segvote.pipeline.predict import Predictions


@app.command(
    epilog=format_examples(
        "segvote predict out photos/new -o new", "segvote predict out new -o new --false-positive-rate 0.1"
    )
)
def predict(
    model: str = typer.Argument(
        ..., metavar="MODEL", help="Run folder of `segvote annotate`, or a copy of the model folder in it."
    ),
    folder: str = typer.Argument(..., metavar="NEW", help="Folder of new images, with the object or without."),
    out: str = typer.Option(..., "-o", "--out", metavar="DIR", help="Folder to write."),
    false_positive_rate: float = typer.Option(
        FALSE_POSITIVE_RATE, help="Largest share of images without the object that may be predicted to show it."
    ),
    shards: str = option(
        JSON_LINES,
        panel=OUTPUT,
        help=f"Format of the results of each block of images: {', '.join(SHARDS)}.",
        **choice(SHARDS, "format of shards"),
    ),
    strict: bool = STRICT,
    jobs: int = JOBS,
    scheduler: str | None = SCHEDULER,
    device: str | None = option(
        None, panel=SCALE, help="Device for the network: auto, cpu, cuda, another; default: as in the training run."
    ),
) -> None:
    """Predict whether new images show the object, how probably, and where.

    Writes masks, heat maps, a COCO file, a table and a page; an image that does not show it has an empty mask.
    An interrupted command continues: images of finished blocks are not read again.
    """
    from segvote import api

    with show_progress() as progress:
        found = api.predict(
            model,
            folder,
            out,
            false_positive_rate=false_positive_rate,
            n_jobs=jobs,
            device=device,
            scheduler=scheduler,
            strict=strict,
            shards=shards,
            progress=progress,
        )
    for problem in found.problems:
        typer.echo(f"left out: {make_plain(problem.reason)}", err=True)
    if found.rate > false_positive_rate:
        typer.echo(
            f"note: so few training images allow one false positive in {1 / found.rate:.0f} images at best, "
            f"a rate of {found.rate:.3g}; annotate with more *without* images for {false_positive_rate:g}",
            err=True,
        )
    print_predictions(found)


def print_predictions(found: Predictions) -> None:
    """Print how many images show the object, and the paths of the files."""
    n_contain, n_unlike = sum(one.contains for one in found.images), sum(one.unlike for one in found.images)
    compared = f"score above {found.threshold:.3g}, for a false-positive rate of {found.rate:.3g}"
    typer.echo(f"shows it  {n_contain} of {len(found)} images: {compared}")
    if n_unlike:
        typer.echo(f"unlike    {n_unlike} of {len(found)} images are unlike both folders: no mask")
    files = {"masks": "masks", "coco": "annotations.coco.json", "table": "predictions.csv", "report": "report.html"}
    for name, file in files.items():
        typer.echo(f"{name:9} {format_path(found.path / file)}")
