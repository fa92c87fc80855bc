"""`segvote explain`: the votes for a segment."""

from __future__ import annotations

from pathlib import Path

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.options import RUN


@app.command(
    epilog=format_examples(
        "segvote explain out cow_12",
        "segvote explain out cow_12 310,140",
        "segvote explain out cow_12 57 --html why.html",
    )
)
def explain(
    run_folder: str = RUN,
    image: str = typer.Argument(..., metavar="IMAGE", help="Name of an image of the run."),
    segment: str = typer.Argument("", metavar="[SEGMENT]", help="Its number, or a point x,y in it; default: the best."),
    html: Path | None = typer.Option(None, metavar="FILE", help="Write a page with pictures, too."),
    lines: int = typer.Option(8, min=1, help="How many votes to list on each side."),
) -> None:
    """List the votes for and against a segment; they sum to its score."""
    from segvote.run.run import Run, open_run
    from segvote.steps.explain import explain_segment, find_segment, format_explanation
    from segvote.steps.reopening import reopen, vote

    with open_run(run_folder) as folder:
        run = Run(folder)
        bag = run.find(image)
        find_segment(run, bag, segment)  # reports a wrong name or number before the vote
        voted = vote(reopen(run))
        explanation = explain_segment(voted, bag, find_segment(run, bag, segment, voted.result.scores))
        typer.echo(format_explanation(explanation, run, lines))
        if html is not None:
            from segvote.review.explain_page import write_explanation

            write_explanation(html, explanation, run)
            typer.echo(f"page     {html}")
