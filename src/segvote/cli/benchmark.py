"""`segvote benchmark`: the paper's experiments on a public data set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.compare import JOBS, RESULTS, VOTER_OPTION, parse_voter_options, split_names, split_voters
from segvote.cli.options import choice
from segvote.cli.terminal import show_progress
from segvote.datasets import DATASETS
from segvote.evaluation.defaults import FEATURES, MAX_ITEMS, N_FRAMES
from segvote.segmentation import SEGMENTERS
from segvote.settings import Settings

DEFAULTS = Settings()
COSEG = "coseg"


@app.command(
    epilog=format_examples(
        "segvote benchmark pittcar PittCar -o out --as-paper",
        "segvote benchmark davis DAVIS -o out --class car",
        "segvote benchmark coseg VOC -o out",
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
    features: str = typer.Option(",".join(FEATURES), help="Names joined by commas; used with --voters."),
    as_paper: bool = typer.Option(
        False, "--as-paper", help="The paper's recipe: gPb segments, VGG-19 (or VGG-16) at 224 x 224, SIFT words."
    ),
    segmenter: str | None = typer.Option(
        None, help=f"{', '.join(SEGMENTERS)} [{DEFAULTS.segmenter}].", **choice(SEGMENTERS, "segmenter")
    ),
    n_segments: int = typer.Option(DEFAULTS.n_segments, min=1, help="Segments per image."),
    voter_option: list[str] | None = VOTER_OPTION,
    frames: int = typer.Option(N_FRAMES, min=1, help="Frames used of each video, as images."),
    max_items: int = typer.Option(MAX_ITEMS, min=1, help="Maximum number of images or videos of each kind and class."),
    jobs: int = JOBS,
) -> None:
    """Run the experiments of a data set on disk and put the figures beside the paper's.

    Each class is one experiment; the mean is over classes. Writes benchmark.html, .md and .json. On coseg, without
    --voters, it is P and J of the masks of the method, beside published figures: coseg.md and .json.
    """
    if name == COSEG and voters is None:
        _benchmark_coseg(path, out, class_name, segmenter, n_segments, max_items, jobs)
        return
    from segvote import api
    from segvote.evaluation.benchmark import list_rows
    from segvote.report.experiments import list_benchmark_tables
    from segvote.report.tables import format_text

    names = None if voters is None else split_voters(voters)
    options = parse_voter_options(names or [voter for voter, _ in list_rows().values()], voter_option)
    with show_progress() as progress:
        done = api.benchmark(
            name,
            path,
            out,
            class_name=class_name,
            voters=names,
            features=split_names(features),
            as_paper=as_paper,
            segmenter=segmenter,
            n_segments=n_segments,
            voter_options=options,
            n_frames=frames,
            max_items=max_items,
            n_jobs=jobs,
            progress=progress,
        )
    for head, table in list_benchmark_tables(done).items():
        typer.echo(f"{head}\n{format_text(table)}\n")
    for note in done.list_notes():
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"page: {out / 'benchmark.html'}")


def _benchmark_coseg(
    path: Path, out: Path, class_name: str | None, segmenter: str | None, n_segments: int, max_items: int, jobs: int
) -> None:
    from segvote import api
    from segvote.report.experiments import list_coseg_rows, list_published_rows
    from segvote.report.tables import format_text

    options: dict[str, Any] = {"class_name": class_name, "max_items": max_items, "n_jobs": jobs}
    settings = replace(DEFAULTS, n_segments=n_segments, segmenter=segmenter or DEFAULTS.segmenter)
    with show_progress() as progress:
        results = api.benchmark_coseg(path, out, settings, **options, progress=progress)
    typer.echo(f"{format_text(list_coseg_rows(results))}\n")
    typer.echo(format_text([row[:3] for row in list_published_rows()]))
    typer.echo(f"table, with sources: {out / 'coseg.md'}")
