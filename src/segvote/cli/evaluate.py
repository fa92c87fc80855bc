"""`segvote evaluate`: a run against truth."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from segvote.cli.app import app
from segvote.cli.progress import show_progress


@app.command(epilog="Examples:  segvote evaluate out --truth masks   |   segvote evaluate out --truth masks --json")
def evaluate(
    run_folder: Path = typer.Argument(..., metavar="RUN", help="Run folder of `segvote annotate`."),
    truth: Path = typer.Option(
        ..., help="Folder of masks named like the images: 255 object, 128 ignore, 0 background."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Measure a run: CorLoc, IoU and AP, beside the limit that its segments set."""
    from segvote.pipeline.evaluate import evaluate as run_evaluate
    from segvote.pipeline.run import Run

    with show_progress() as progress:
        evaluation = run_evaluate(Run(run_folder), truth, progress)
    if as_json:
        typer.echo(json.dumps(evaluation.to_dict()))
    else:
        typer.echo(format_evaluation(evaluation))


def format_evaluation(evaluation) -> str:  # type: ignore[no-untyped-def]
    """A small table: figure, interval, limit of the segments."""
    figures = evaluation.to_dict()
    corloc, miou = evaluation.measure_corloc_interval(), evaluation.measure_miou_interval()
    rows = [
        ("", "result", "95 % interval", "limit of the segments"),
        (
            "CorLoc",
            f"{figures['corloc']:.3f}",
            f"{corloc.low:.3f} .. {corloc.high:.3f}",
            f"{figures['limit_corloc']:.3f}",
        ),
        ("mean IoU", f"{figures['miou']:.3f}", f"{miou.low:.3f} .. {miou.high:.3f}", f"{figures['limit_miou']:.3f}"),
        ("segment AP", f"{figures['segment_ap']:.3f}", "", ""),
        ("images", f"{figures['n_images']}", "", ""),
    ]
    return "\n".join(
        f"{name:12}{value:>8}  {interval:>16}  {limit:>22}".rstrip() for name, value, interval, limit in rows
    )
