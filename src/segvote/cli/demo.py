"""`segvote demo`: annotate and evaluate on synthetic scenes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.options import JOBS, choice
from segvote.cli.terminal import show_progress
from segvote.datasets import DEFECTS
from segvote.settings import Settings

# Compared with the default, which comes last: its masks stay in the run folder.
VOTERS = ("negmin", "crane", Settings().voter)
FIGURES = {"CorLoc": "corloc", "mean IoU": "miou", "AP": "segment_ap", "limit IoU": "limit_miou"}


@app.command(
    epilog=format_examples("segvote demo", "segvote demo -o demo-out --jobs 1", "segvote demo --defects scratch")
)
def demo(
    out: Path = typer.Option(
        Path("segvote-demo"), "-o", "--out", metavar="DIR", help="Folder for the scenes and the run."
    ),
    jobs: int = JOBS,
    seed: int = typer.Option(0, help="Seed of the scenes."),
    defects: str | None = typer.Option(
        None,
        help=f"Instead of still lifes, 1024 px surfaces with a small defect: {', '.join(DEFECTS)}.",
        **choice(DEFECTS, "defect"),
    ),
) -> None:
    """Make scenes with and without an object, annotate them, compare with the truth."""
    from segvote import api
    from segvote.datasets import make_scenes, make_surfaces, write_scenes

    scenes, run_folder = out / "scenes", out / "run"
    typer.echo(f"making scenes in {scenes}")
    if defects is None:
        write_scenes(scenes, make_scenes(seed=seed))
    else:
        write_scenes(scenes, make_surfaces(seed=seed, kind=defects))
    lines = [f"{'voter':12}" + "".join(f"{title:>11}" for title in FIGURES)]
    for voter in VOTERS:
        with show_progress() as progress:
            settings = replace(Settings(), voter=voter)
            run = api.annotate(
                scenes / "with", scenes / "without", run_folder, settings, n_jobs=jobs, progress=progress
            )
            figures = api.evaluate(run, scenes / "masks").to_dict()
        lines.append(f"{voter:12}" + "".join(f"{figures[name]:11.2f}" for name in FIGURES.values()))
    typer.echo("\n".join(lines))
    typer.echo(f"report: {run.folder.report_path}")
