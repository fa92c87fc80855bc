"""Masks where a sample of the images votes and the model of that vote predicts the others.

    python benchmarks/bench_sample.py SET [SET ...] [--part half|quarter|twelve|all] [--jobs 1]

Each set is annotated by a vote of all its images, of half of them, of a quarter, and of 12 *with* images with the same
share of the *without* images. CorLoc and mean IoU are those of the masks of all *with* images, whether they voted or
were predicted. A figure is printed as soon as it is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import segvote
from harness import Given, run_parts
from segvote.pipeline import sample
from segvote.settings import Settings

DETAIL = "coarse"  # one look for all votes: another look would be another difference
N_FEWEST = 12  # *with* images that vote in the part `twelve`
PARTS: dict[str, Callable[[int], float]] = {
    "half": lambda n_with: 1 / 2,
    "quarter": lambda n_with: 1 / 4,
    "twelve": lambda n_with: min(N_FEWEST / n_with, 1.0),
}
Figures = dict[str, float]


def measure_sets(part: str, given: Given) -> dict[str, Any]:
    """CorLoc and mean IoU of each set by the whole vote and by a vote of a part, and the mean difference."""
    rows = {folder.name: compare_votes(folder, given, [part]) for folder in given.sets}
    return summarise(rows)


def measure_all(given: Given) -> dict[str, Any]:
    """All parts; segments and features of a set are computed once."""
    return summarise({folder.name: compare_votes(folder, given, list(PARTS)) for folder in given.sets})


def compare_votes(folder: Path, given: Given, parts: list[str]) -> Figures:
    out, figures = given.scratch / folder.name, {}
    for name in ("whole", *parts):
        found = annotate_part(folder, out, name, given.jobs)
        figures |= {f"{name} {figure}": value for figure, value in found.items()}
    print(folder.name, {name: round(value, 4) for name, value in figures.items()}, flush=True)
    return figures


def annotate_part(folder: Path, out: Path, part: str, jobs: int) -> Figures:
    """Annotate into the same run folder, where segments and features are, and measure the masks of all images."""
    settings = replace(Settings(), detail=DETAIL, vote_on="all" if part == "whole" else str(sample.LEAST_VOTERS))
    with mock.patch.object(sample, "count_voters", partial(count_share, part)):
        run = segvote.annotate(folder / "with", folder / "without", out, settings, n_jobs=jobs)
    found = segvote.evaluate(run, folder / "masks").to_dict()
    return {"corloc": found["corloc"], "miou": found["miou"], "voted": len(run)}


def count_share(part: str, n_with: int, n_without: int, n_voters: int) -> tuple[int, int]:
    """The same share of both folders, in place of equal numbers."""
    share = PARTS[part](n_with) if part in PARTS else 1.0
    return round(share * n_with), round(share * n_without)


def summarise(rows: dict[str, Figures]) -> dict[str, Any]:
    """The rows, and the mean of each figure over the sets."""
    names = next(iter(rows.values()))
    return {**rows, "mean": {name: float(np.mean([row[name] for row in rows.values()])) for name in names}}


if __name__ == "__main__":
    run_parts(__doc__, {"all": measure_all, **{part: partial(measure_sets, part) for part in PARTS}})
