"""`segvote compare`: every voter side by side on your own data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.terminal import show_progress
from segvote.errors import UnknownNameError
from segvote.features import FEATURES
from segvote.method.threshold import DECISIONS
from segvote.metrics.overlap import IMAGE_THRESHOLD
from segvote.pipeline.workers import N_JOBS
from segvote.registry import check_known
from segvote.segmentation import SEGMENTERS
from segvote.settings import COARSE, Settings
from segvote.voters import SYSTEMS, VOTERS

DEFAULTS = Settings()
ALL = "all"

# Options of `segvote benchmark`, too.
RESULTS = typer.Option(..., "-o", "--out", metavar="DIR", help="Folder for results; finished ones there are kept.")
VOTER_OPTION = typer.Option(
    None, metavar="NAME=VALUE", help="Parameter of all voters that have it, or VOTER.NAME=VALUE; may be repeated."
)
JOBS = typer.Option(N_JOBS, min=1, help="Number of processes that segment and extract features.")


@app.command(
    epilog=format_examples(
        "segvote compare with without --truth masks -o cmp",
        "segvote compare with without --truth masks -o cmp --voters ekde,crane,cam --features lite0,bow",
        "segvote compare with without --truth masks -o cmp --voters ekde,f-neg --stress",
    )
)
def compare(
    with_folder: Path = typer.Argument(..., metavar="WITH", help="Folder of images that show the object."),
    without_folder: Path = typer.Argument(..., metavar="WITHOUT", help="Folder of images that do not."),
    truth: Path = typer.Option(..., metavar="PATH", help="Truth, of any kind that `segvote evaluate` takes."),
    out: Path = RESULTS,
    voters: str = typer.Option(
        ALL,
        help=f"Names joined by commas, or all: {', '.join(SYSTEMS)}; NAME+finish adds the method's re-vote and "
        "classifier.",
    ),
    features: str = typer.Option(DEFAULTS.features, help=f"Names joined by commas: {', '.join(FEATURES)}."),
    segmenters: str = typer.Option(DEFAULTS.segmenter, help=f"Names joined by commas: {', '.join(SEGMENTERS)}."),
    n_segments: int = typer.Option(DEFAULTS.n_segments, min=1, help="Segments per image."),
    size: int = typer.Option(DEFAULTS.size, min=16, help="Longest side in pixels at which images are segmented."),
    detail: str = typer.Option(COARSE, help="Input of the network, the same for all: coarse, fine, or pixels."),
    decision: str = typer.Option(DEFAULTS.decision, help=f"The common rule: {', '.join(DECISIONS)}."),
    label: str | None = typer.Option(None, help="The class that counts, where the truth has several."),
    threshold: float = typer.Option(IMAGE_THRESHOLD, min=0.0, max=1.0, help="Overlap above which an image is found."),
    voter_option: list[str] | None = VOTER_OPTION,
    stress: bool = typer.Option(
        False, "--stress", help="Robustness curves too: fewer images, misfiled images, label noise."
    ),
    jobs: int = JOBS,
) -> None:
    """Try every combination of voters, features and segmenters on shared segments: the paper's table on your data.

    Writes comparison.html, .md, .csv and .json, and stress.csv with --stress. An interrupted comparison continues.
    """
    from segvote import api
    from segvote.report.experiments import list_comparison_rows
    from segvote.report.tables import format_text

    names = split_voters(voters)
    with show_progress() as progress:
        comparison = api.compare(
            with_folder,
            without_folder,
            truth,
            out,
            voters=names,
            features=split_names(features),
            segmenters=split_names(segmenters, SEGMENTERS, "segmenter"),
            settings=replace(DEFAULTS, n_segments=n_segments, size=size, detail=detail, decision=decision),
            label=label,
            threshold=threshold,
            voter_options=parse_voter_options(names, voter_option),
            stress=stress,
            n_jobs=jobs,
            progress=progress,
        )
    typer.echo(format_text(list_comparison_rows(comparison)))
    for failed in comparison.failed:
        typer.echo(f"no result: {failed.combination.voter}, {failed.combination.features}: {failed.reason}", err=True)
    typer.echo(f"page: {out / 'comparison.html'}")


def split_voters(text: str) -> tuple[str, ...]:
    """Names of voters, some with ``+finish``; ``"all"`` is every system without it."""
    from segvote.evaluation.compare import FINISH

    return SYSTEMS if text.strip() == ALL else split_names(text, [*SYSTEMS, *(f"{n}{FINISH}" for n in VOTERS)], "voter")


def split_names(text: str, known: Iterable[str] = (), kind: str = "name") -> tuple[str, ...]:
    """``"a,b"`` to names; where the known ones are given, an unknown one lists them."""
    names, known = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip())), list(known)
    for name in names:
        if known:
            check_known(name, known, kind)
    if not names:
        raise UnknownNameError(f"expected at least one {kind}, got none")
    return names


def parse_voter_options(names: Iterable[str], options: list[str] | None) -> dict[str, dict[str, Any]]:
    """Options of each voter among the names."""
    from segvote.evaluation.compare import FINISH
    from segvote.voters.options import parse_options_of_all

    return parse_options_of_all(tuple(dict.fromkeys(name.removesuffix(FINISH) for name in names)), options or ())
