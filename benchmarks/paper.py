"""The paper's experiments on the data sets at hand, and the tables of docs/paper.md.

Run it with `make paper`. It compares all voters on each set (with/, without/, masks/): our segments and network for
all, our segments with visual words and the paper's own recipe (gPb, words, second voting) for the paper's methods; then
all pairs of bandwidths of the printed eKDE, then stress. Of each folder it takes the same few images, evenly spread
over the sorted names. Everything is kept in the work folder: stopped, it goes on where it was. The page keeps its text;
only what stands between its markers is written again.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from paper_bandwidths import BandwidthTable, measure_bandwidths
from paper_page import Pages, fill_page, list_claim_rows, write_figures
from paper_sets import (
    ALL_SETS,
    DETAIL,
    N_IMAGES,
    N_SEGMENTS,
    NO_BASELINES,
    PAPER_VOTERS,
    STRESS_LEVELS,
    STRESS_SEGMENTS,
    STRESS_SET,
    STRESS_VOTERS,
    VOTER_OPTIONS,
    Job,
)
from paper_window import SetWindow, measure_set
from segvote.datasets.paper_table import PAPER_METHODS
from segvote.evaluation.compare import Plan, compare
from segvote.evaluation.compare_results import FINISH, Comparison
from segvote.evaluation.stress import STRESSES, StressCurve, stress
from segvote.report.experiment_tables import format_text
from segvote.run.settings import Settings
from segvote.voters import METHOD, SYSTEMS


def list_passes(voters: Sequence[str]) -> Iterator[Plan]:
    """What is compared on every set, the most telling first: stopped early, it is there."""
    yield Plan(voters=tuple(voters), features=("lite0",), voter_options=VOTER_OPTIONS)
    pairs = (*PAPER_METHODS.values(), (METHOD, "lite0"), (METHOD, "bow"))
    methods = tuple(dict.fromkeys(voter for voter, _ in pairs))
    yield Plan(voters=methods, features=("lite0", "bow"), segmenters=("gpb",), pairs=pairs)
    yield Plan(voters=methods, features=("bow",))


def compare_set(
    job: Job, name: str, plan: Plan, feature_options: Mapping[str, Any] = MappingProxyType({})
) -> Comparison:
    plan = replace(plan, time_limit=job.time_limit)
    settings = Settings(n_segments=N_SEGMENTS, detail=DETAIL, feature_options=dict(feature_options))
    out = job.out / name / "comparison"
    return compare(*job.lay_out(name), out, plan, settings, n_jobs=job.n_jobs, progress=report_steps(name))


def compare_all(job: Job, names: Sequence[str], voters: Sequence[str]) -> dict[str, Comparison]:
    """Every pass over all sets; the results of one set together."""
    found: dict[str, Comparison] = {}
    for plan in list_passes(voters):
        for name in names:
            one = compare_set(job, name, plan)
            found[name] = join_results(found.get(name), one)
    best = find_best_baseline(found)
    for name in names:
        finished = compare_set(job, name, Plan(voters=(f"{best}{FINISH}",), features=("lite0",)))
        found[name] = join_results(found[name], finished)
    return found


def join_results(known: Comparison | None, more: Comparison) -> Comparison:
    return replace(more, results=[*(known.results if known else []), *more.results])


def find_best_baseline(comparisons: Mapping[str, Comparison]) -> str:
    """The bare voter with the highest mean CorLoc by the common rule, then AP; neither ours nor eKDE."""
    means: dict[str, tuple[float, float]] = {}
    for voter in dict.fromkeys(one.combination.voter for known in comparisons.values() for one in known.good):
        results = [(known, known.find(voter, "lite0", "ward")) for known in comparisons.values()]
        figures = [(known.measure_corloc(one).mean, one.segment_ap) for known, one in results if one]
        is_baseline = voter not in (METHOD, *NO_BASELINES) and not voter.endswith(FINISH)
        if is_baseline and len(figures) == len(comparisons):
            corloc, ap = np.mean(figures, axis=0)
            means[voter] = float(corloc), float(ap)
    return max(means, key=lambda voter: means[voter])


def measure_all_bandwidths(job: Job, names: Sequence[str]) -> dict[str, BandwidthTable]:
    # In the folder of the comparison, whose segments and features it shares.
    settings = Settings(n_segments=N_SEGMENTS, detail=DETAIL, voter="ekde-paper", draw="segments")
    return {
        name: measure_bandwidths(job.lay_out(name), job.out / name / "comparison", settings, job.n_jobs)
        for name in names
    }


def stress_set(job: Job, name: str) -> list[StressCurve]:
    kinds = [replace(kind, levels=STRESS_LEVELS.get(key, kind.levels)) for key, kind in STRESSES.items()]
    return stress(
        *job.lay_out(name),
        job.out / "stress",
        Plan(voters=STRESS_VOTERS, time_limit=job.time_limit),
        Settings(n_segments=STRESS_SEGMENTS, detail=DETAIL),
        kinds=kinds,
        n_draws=2,
        n_jobs=job.n_jobs,
        progress=report_steps(name),
    )


def report_steps(name: str) -> Callable[[str, int, int], None]:
    started = time.perf_counter()

    def report(step: str, done: int, total: int) -> None:
        if step in ("compare", "stress"):
            print(f"{name}, {step}: {done} of {total} after {time.perf_counter() - started:.0f} s", flush=True)

    return report


def forget_results(out: Path) -> None:
    """Votes are to be counted again; segments and features stay."""
    for name in ("results", "scores", "stress", "votes", "pairs"):
        for folder in [*out.glob(f"*/{name}"), *out.glob(f"*/*/{name}")]:
            shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="Folder that holds the sets.")
    parser.add_argument("--out", type=Path, default=Path("build/paper"), help="Work folder.")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="Where paper.md lies.")
    parser.add_argument("--sets", nargs="+", default=ALL_SETS)
    parser.add_argument("--images", type=int, default=N_IMAGES, help="Of each folder, evenly spread; 0: all.")
    parser.add_argument("--voters", choices=("all", "paper"), default="all")
    parser.add_argument(
        "--time-limit", type=float, help="Seconds of processor time for one vote, in a process of its own."
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="Count all votes again: after a change in a voter.")
    parser.add_argument("--no-stress", action="store_true")
    options = parser.parse_args()
    if options.again:
        forget_results(options.out)
    job = Job(options.data, options.out, options.images, options.time_limit, options.jobs)
    voters = SYSTEMS if options.voters == "all" else PAPER_VOTERS
    bandwidths = measure_all_bandwidths(job, options.sets)
    windows: dict[str, SetWindow] = {name: measure_set(job, name) for name in options.sets}
    comparisons = compare_all(job, options.sets, voters)
    curves = [] if options.no_stress else stress_set(job, STRESS_SET)
    pages = Pages(comparisons, bandwidths, windows, curves, options.images)
    print(format_text(list_claim_rows(comparisons, find_best_baseline(comparisons))))
    write_figures(options.docs / "images", pages)
    fill_page(options.docs / "paper.md", pages)


if __name__ == "__main__":
    main()
