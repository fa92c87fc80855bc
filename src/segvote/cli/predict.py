"""`segvote predict`: the learned decision on images never seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.options import SCHEDULER, PathOrUri, format_path
from segvote.cli.terminal import show_progress
from segvote.plain_text import make_plain
from segvote.steps.predictor import FALSE_POSITIVE_RATE
from segvote.steps.workers import N_JOBS

if TYPE_CHECKING:
    from segvote.steps.predict import Predictions


@app.command(
    epilog=format_examples(
        "segvote predict out photos/new -o new", "segvote predict out new -o new --false-positive-rate 0.1"
    )
)
def predict(
    model: PathOrUri = typer.Argument(
        ...,
        metavar="MODEL",
        parser=PathOrUri,
        help="Run folder of `segvote annotate`, or the model folder in it, wherever it lies now, s3://bucket/run too.",
    ),
    folder: PathOrUri = typer.Argument(
        ..., metavar="NEW", parser=PathOrUri, help="Folder of images of unknown content."
    ),
    out: PathOrUri = typer.Option(..., "-o", "--out", metavar="DIR", parser=PathOrUri, help="Folder to write."),
    false_positive_rate: float = typer.Option(
        FALSE_POSITIVE_RATE,
        help="Largest share of images without the object that may be predicted to show it.",
    ),
    device: str | None = typer.Option(
        None, help="Where the network runs: auto, cpu, cuda or another; as in the training run unless given."
    ),
    jobs: int = typer.Option(N_JOBS, min=1, help="Number of processes; the answer does not depend on it."),
    scheduler: str | None = SCHEDULER,
    strict: bool = typer.Option(False, help="Stop at an unreadable image instead of reporting it."),
) -> None:
    """Predict whether new images show the object, how probably, and where.

    Writes masks, heat maps, a COCO file, a table and a page; an image that does not show it has an empty mask.
    """
    from segvote.io.stores import is_uri
    from segvote.report.predictions_page import write_predictions_report
    from segvote.steps.predict import predict as run_predict

    with show_progress() as progress:
        found = run_predict(
            model,
            folder,
            out,
            false_positive_rate=false_positive_rate,
            n_jobs=jobs,
            device=device,
            scheduler=scheduler,
            strict=strict,
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
    typer.echo(format_predictions(found))
    if not is_uri(out):  # what is written into a store is gone from here
        typer.echo(f"report    {write_predictions_report(found)}")


def format_predictions(found: Predictions) -> str:
    """How many images show the object, and where everything lies."""
    n_contain, n_unlike = sum(one.contains for one in found.images), sum(one.unlike for one in found.images)
    lines = [
        f"shows it  {n_contain} of {len(found)} images (false-positive rate {found.rate:.3g})",
        *([f"unlike    {n_unlike} of {len(found)} images are unlike both folders: no mask"] if n_unlike else []),
        f"masks     {format_path(found.path / 'masks')}",
        f"coco      {format_path(found.path / 'annotations.coco.json')}",
        f"table     {format_path(found.path / 'predictions.csv')}",
    ]
    return "\n".join(lines)
