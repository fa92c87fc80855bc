"""`segvote benchmark`: the paper's experiments on a public data set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.compare import JOBS, RESULTS, VOTER_OPTION, parse_voter_options, split_names, split_voters
from segvote.cli.options import choice
from segvote.cli.terminal import show_progress
from segvote.datasets import DATASETS
from segvote.run.settings import Settings
from segvote.segmentation import SEGMENTERS

DEFAULTS = Settings()


@app.command(
    epilog=format_examples(
        "segvote benchmark pittcar PittCar -o out --as-paper", "segvote benchmark davis DAVIS -o out --class car"
    )
)
def benchmark(
    name: str = typer.Argument(..., metavar="NAME", help=f"Data set: {', '.join(DATASETS)}."),
    path: Path = typer.Argument(..., metavar="PATH", help="Its folder."),
    out: Path = RESULTS,
    class_name: str | None = typer.Option(None, "--class", help="One class only."),
    voters: str | None = typer.Option(
        None, help="Names joined by commas, or all, as in compare; default: the paper's and the method."
    ),
    features: str = typer.Option("lite0,bow", help="Names joined by commas; used with --voters."),
    as_paper: bool = typer.Option(
        False, "--as-paper", help="The paper's recipe: gPb segments, VGG-19 at 224 x 224, SIFT words."
    ),
    segmenter: str | None = typer.Option(
        None, help=f"{', '.join(SEGMENTERS)} [{DEFAULTS.segmenter}].", **choice(SEGMENTERS, "segmenter")
    ),
    n_segments: int = typer.Option(DEFAULTS.n_segments, min=1, help="Segments per image."),
    voter_option: list[str] | None = VOTER_OPTION,
    frames: int = typer.Option(3, min=1, help="Frames used of each video, as images."),
    max_items: int = typer.Option(200, min=1, help="Maximum number of images or videos of each kind and class."),
    jobs: int = JOBS,
) -> None:
    """Run the experiments of a data set on disk and put the figures beside the paper's.

    Each class is one experiment; the mean is over classes. Writes benchmark.html, .md and .json.
    """
    from segvote.evaluation.benchmark import PAPER_NETWORK, PAPER_SETTINGS, list_row_combinations, list_rows
    from segvote.evaluation.benchmark import benchmark as run_benchmark
    from segvote.evaluation.compare import list_combinations
    from segvote.report.experiments import list_benchmark_tables, write_benchmark
    from segvote.report.tables import format_text

    settings = replace(PAPER_SETTINGS if as_paper else DEFAULTS, n_segments=n_segments)
    settings = replace(settings, segmenter=segmenter or settings.segmenter)
    rows = list_rows(PAPER_NETWORK) if as_paper else list_rows()
    combinations = list_row_combinations(rows, settings.segmenter)
    if voters is not None:
        combinations = list_combinations(split_voters(voters), split_names(features), [settings.segmenter])
    with show_progress() as progress:
        done = run_benchmark(
            name,
            path,
            out,
            combinations,
            settings,
            rows=rows,
            class_name=class_name,
            n_frames=frames,
            max_items=max_items,
            voter_options=parse_voter_options([one.voter for one in combinations], voter_option),
            n_jobs=jobs,
            progress=progress,
        )
    for head, table in list_benchmark_tables(done).items():
        typer.echo(f"{head}\n{format_text(table)}\n")
    for note in done.list_notes():
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"page: {write_benchmark(done, out)}")
