"""Which voters want features with their lengths, which want blocks of length one: all of them both ways, on every set.

It shares the work folder of `paper.py`, its draw of images, segments and features. The table goes into docs/voters.md;
what a class says in `wants_lengths` must be what the table says.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from paper import compare_set
from paper_sets import SETS, VOTER_OPTIONS, Job
from segvote.evaluation.compare import Plan
from segvote.evaluation.compare_results import LENGTHS, UNIT, Comparison, Result
from segvote.report.experiment_tables import format_markdown
from segvote.voters import VOTERS

# Without this words have length one either way.
FEATURE_OPTIONS = {"bow": {"counts": True}}
HEADS = [
    "voter",
    "CorLoc, unit",
    "lengths",
    "own rule, unit",
    "lengths",
    "AP, unit",
    "lengths",
    "better AP on",
    "keeps",
]


def measure(comparison: Comparison, result: Result) -> tuple[float, float, float]:
    """CorLoc by the common rule and by the voter's own, and AP."""
    common, own = (comparison.measure_corloc(result, rule).mean for rule in ("common", "own"))
    return common, own, result.segment_ap


def measure_all(comparisons: Sequence[Comparison], voter: str, features: str) -> np.ndarray:
    """(n_sets, 3) figures; a voter that failed somewhere has none."""
    found = [(one, one.find(voter, features)) for one in comparisons]
    return np.array([measure(one, result) if result else (np.nan,) * 3 for one, result in found])


def list_rows(comparisons: Sequence[Comparison], features: str, voters: Sequence[str]) -> list[list[str]]:
    rows = [HEADS]
    for voter in voters:
        unit, kept = (measure_all(comparisons, voter, f"{features}{ending}") for ending in (UNIT, LENGTHS))
        pairs = [f"{mean:.2f}" for both in zip(unit.mean(axis=0), kept.mean(axis=0), strict=True) for mean in both]
        wins = f"{(kept[:, 2] > unit[:, 2]).sum()} of {len(comparisons)}"
        rows.append([voter, *pairs, wins, "yes" if VOTERS[voter].wants_lengths else "no"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="Folder that holds the sets.")
    parser.add_argument("--out", type=Path, default=Path("build/paper"), help="Work folder of paper.py.")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--images", type=int, default=12, help="Of each folder, evenly spread; 0: all.")
    parser.add_argument("--features", default="lite0")
    parser.add_argument("--voters", nargs="+", default=tuple(VOTERS))
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    job = Job(options.data, options.out, options.images, None, options.jobs)
    features = (f"{options.features}{UNIT}", f"{options.features}{LENGTHS}")
    plan = Plan(voters=tuple(options.voters), features=features, voter_options=VOTER_OPTIONS)
    feature_options = FEATURE_OPTIONS.get(options.features, {})
    comparisons = [compare_set(job, name, plan, feature_options) for name in options.sets]
    print(format_markdown(list_rows(comparisons, options.features, options.voters)))


if __name__ == "__main__":
    main()
