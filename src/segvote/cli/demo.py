"""`segvote demo`: annotate and evaluate on synthetic scenes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.options import choice
from segvote.cli.terminal import show_progress
from segvote.datasets import DEFECTS
from segvote.run.settings import Settings

# Voters shown beside the default.
RIVALS = ("negmin", "crane")


@app.command(
    epilog=format_examples("segvote demo", "segvote demo -o demo-out --jobs 1", "segvote demo --defects scratch")
)
def demo(
    out: Path = typer.Option(
        Path("segvote-demo"), "-o", "--out", metavar="DIR", help="Folder for the scenes and the run."
    ),
    jobs: int = typer.Option(2, min=1, help="Number of processes."),
    seed: int = typer.Option(0, help="Of the scenes."),
    defects: str | None = typer.Option(
        None,
        help=f"Instead of still lifes, 1024 px surfaces with a small defect: {', '.join(DEFECTS)}.",
        **choice(DEFECTS, "defect"),
    ),
) -> None:
    """Make scenes with and without an object, annotate them, compare with the truth."""
    from segvote._api import annotate
    from segvote.datasets import write_scenes, write_surfaces
    from segvote.evaluation.evaluate import evaluate

    scenes, run_folder = out / "scenes", out / "run"
    typer.echo(f"making scenes in {scenes}")
    if defects is None:
        write_scenes(scenes, seed=seed)
    else:
        write_surfaces(scenes, seed=seed, kind=defects)
    rows = []
    # The default last, so that its masks are the ones that stay in the run folder.
    for voter in (*RIVALS, Settings().voter):
        with show_progress() as progress:
            settings = replace(Settings(), voter=voter)
            run = annotate(scenes / "with", scenes / "without", run_folder, settings, n_jobs=jobs, progress=progress)
            rows.append((voter, evaluate(run, scenes / "masks").to_dict()))
    typer.echo(format_table(rows))
    typer.echo(f"report: {run.folder.report_path}")


def format_table(rows: list[tuple[str, dict]]) -> str:
    """Voters side by side, best last."""
    lines = [f"{'voter':12}{'CorLoc':>8}{'mean IoU':>10}{'AP':>8}{'limit IoU':>11}"]
    for voter, figures in rows:
        values = [figures[name] for name in ("corloc", "miou", "segment_ap", "limit_miou")]
        lines.append(f"{voter:12}{values[0]:8.2f}{values[1]:10.2f}{values[2]:8.2f}{values[3]:11.2f}")
    return "\n".join(lines)
