"""`segvote benchmark`: the paper's experiments on a public data set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.compare import JOBS, RESULTS, VOTER_OPTION, split_names
from segvote.cli.options import choice
from segvote.cli.terminal import show_progress
from segvote.datasets import DATASETS
from segvote.run.settings import Settings
from segvote.segmentation import SEGMENTERS
from segvote.voters import SYSTEMS

DEFAULTS = Settings()


@app.command(
    epilog=format_examples(
        "segvote benchmark pittcar PittCar -o out --as-paper", "segvote benchmark davis DAVIS -o out --class car"
    )
)
def benchmark(
    name: str = typer.Argument(..., metavar="NAME", help=f"Data set: {', '.join(DATASETS)}."),
    path: Path = typer.Argument(..., metavar="PATH", help="Where it lies."),
    out: Path = RESULTS,
    class_name: str | None = typer.Option(None, "--class", help="One class only."),
    voters: str | None = typer.Option(
        None, help="Names joined by commas, or all; default: the paper's and the method."
    ),
    features: str = typer.Option("lite0,bow", help="Names joined by commas; used with --voters."),
    deep_features: str | None = typer.Option(
        None, metavar="NAME", help="Features of the row eKDE_deep [lite0; with --as-paper vgg19]."
    ),
    word_features: str = typer.Option("bow", metavar="NAME", help="Features of the paper's other rows."),
    as_paper: bool = typer.Option(
        False, "--as-paper", help="The paper's recipe: gPb segments, VGG-19 at 224 x 224, SIFT words."
    ),
    ucm: Path | None = typer.Option(
        None,
        metavar="DIR",
        help="Published contour maps (ucm2 in .mat), named like the images, instead of a segmenter.",
    ),
    segmenter: str | None = typer.Option(
        None, help=f"{', '.join(SEGMENTERS)} [{DEFAULTS.segmenter}].", **choice(SEGMENTERS, "segmenter")
    ),
    n_segments: int = typer.Option(DEFAULTS.n_segments, min=1, help="Segments per image."),
    finish: bool = typer.Option(False, "--finish", help="Each voter also with the method's re-vote and classifier."),
    voter_option: list[str] | None = VOTER_OPTION,
    frames: int = typer.Option(3, min=0, help="Frames used of each video, as images; 0: videos as they are."),
    max_items: int = typer.Option(200, min=1, help="At most so many images or videos of each kind and class."),
    jobs: int = JOBS,
) -> None:
    """Run the experiments of a data set on disk and put the figures beside the paper's.

    Each class is an experiment of its own; the mean is over classes. Leaves benchmark.html, .md, .tex and .json.
    """
    from segvote.evaluation.benchmark import PAPER_SETTINGS, RowFeatures, make_paper_plan
    from segvote.evaluation.benchmark import benchmark as run_benchmark
    from segvote.evaluation.compare import Plan
    from segvote.evaluation.compare_results import add_finished
    from segvote.report.experiment_pages import (
        list_benchmark_notes,
        list_benchmark_rows,
        list_class_rows,
        write_benchmark,
    )
    from segvote.report.experiment_tables import format_text, list_set_rows
    from segvote.voters.options import parse_options_of_all

    base = PAPER_SETTINGS if as_paper else DEFAULTS
    segmenter = segmenter or base.segmenter
    row_features = RowFeatures(deep_features or ("vgg19" if as_paper else "lite0"), word_features)
    plan = make_paper_plan(row_features)
    if voters is not None:
        plan = Plan(split_names(voters, SYSTEMS, "voter"), split_names(features))
    options = parse_options_of_all(plan.voters, voter_option or ())
    if finish:
        pairs = tuple((name, kind) for voter, kind in plan.pairs for name in add_finished([voter]))
        plan = replace(plan, voters=add_finished(plan.voters), pairs=pairs)
    plan = replace(plan, segmenters=(segmenter,), voter_options=options)
    with show_progress() as progress:
        done = run_benchmark(
            name,
            path,
            out,
            plan,
            replace(base, segmenter=segmenter, n_segments=n_segments),
            row_features=row_features,
            label_maps=ucm,
            class_name=class_name,
            n_frames=frames,
            max_items=max_items,
            n_jobs=jobs,
            progress=progress,
        )
    typer.echo(format_text(list_set_rows(done.classes)))
    beside = list_benchmark_rows(done)
    if len(beside) > 1:
        typer.echo("\nbeside the paper (CorLoc)\n" + format_text(beside))
        if done.has_paper:
            typer.echo("\nclass by class, ours / the paper's\n" + format_text(list_class_rows(done)))
    for note in list_benchmark_notes(done):
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"page: {write_benchmark(done, out)}")
