"""The paper's experiments on the data sets at hand, and the tables of docs/paper.md.

Run it with `make paper`. It compares all voters on each set (with/, without/, masks/), with visual words and with deep
features, then stresses some of them. Everything is kept in the work folder: stopped, it goes on where it was. The page
keeps its text; only what stands between its markers is written again.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from paper_page import fill_page, write_figures
from segvote.evaluation.compare import Plan, compare
from segvote.evaluation.compare_results import Comparison
from segvote.evaluation.stress import STRESSES, StressCurve, stress
from segvote.run.settings import Settings
from segvote.voters import VOTERS

SETS = ("cows", "aeroplanes", "street-cars")
# Scaled for each voter as suits it.
FEATURES = ("lite0", "bow")
PAPER_VOTERS = ("ekde", "ekde-paper", "obow", "milboost", "crane", "negmin", "cam")
Names = tuple[str, ...]
# Half of the usual number, which ranks as well: the slowest voters look at all pairs, and there are some 190 votes.
N_SEGMENTS = 100
STRESS_SET = "cows"
STRESS_VOTERS = ("ekde", "ekde-paper", "obow", "milboost", "crane", "negmin", "cam")
# Fewer still: a curve is some sixty votes of each voter.
STRESS_SEGMENTS = 50
STRESS_LEVELS = {"images": (10, 20, 40), "segments": (25, 50, 100, 200)}


def compare_set(folder: Path, out: Path, voters: Names, features: Names, time_limit: float, n_jobs: int) -> Comparison:
    plan = Plan(voters=voters, features=features, time_limit=time_limit)
    settings, progress = Settings(n_segments=N_SEGMENTS), report_steps(folder.name)
    folders = (folder / "with", folder / "without", folder / "masks")
    return compare(*folders, out, plan, settings, n_jobs=n_jobs, progress=progress)


def stress_set(folder: Path, out: Path, time_limit: float, n_jobs: int) -> list[StressCurve]:
    kinds = [replace(kind, levels=STRESS_LEVELS.get(name, kind.levels)) for name, kind in STRESSES.items()]
    return stress(
        folder / "with",
        folder / "without",
        folder / "masks",
        out,
        Plan(voters=STRESS_VOTERS, time_limit=time_limit),
        Settings(n_segments=STRESS_SEGMENTS),
        kinds=kinds,
        n_draws=2,
        n_jobs=n_jobs,
        progress=report_steps(folder.name),
    )


def report_steps(name: str) -> Callable[[str, int, int], None]:
    started = time.perf_counter()

    def report(step: str, done: int, total: int) -> None:
        if step in ("compare", "stress"):
            print(f"{name}, {step}: {done} of {total} after {time.perf_counter() - started:.0f} s", flush=True)

    return report


def forget_results(out: Path) -> None:
    """Votes are to be counted again; segments and features stay."""
    for name in ("results", "scores", "stress", "votes"):
        for folder in out.glob(f"*/{name}"):
            shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="Folder that holds the sets.")
    parser.add_argument("--out", type=Path, default=Path("build/paper"), help="Work folder.")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="Where paper.md lies.")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--features", nargs="+", default=FEATURES)
    parser.add_argument("--voters", choices=("all", "paper"), default="all")
    parser.add_argument("--time-limit", type=float, default=90.0, help="Seconds of processor time for one vote.")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="Count all votes again: after a change in a voter.")
    parser.add_argument("--no-stress", action="store_true")
    options = parser.parse_args()
    if options.again:
        forget_results(options.out)
    features = tuple(options.features)
    others = tuple(voter for voter in VOTERS if voter not in PAPER_VOTERS) if options.voters == "all" else ()
    comparisons, curves = {}, []
    # The paper's own table first: stopped early, it is there. A later pass finds what an earlier one did.
    for voters in dict.fromkeys([PAPER_VOTERS, (*PAPER_VOTERS, *others)]):
        for name in options.sets:
            folders = (options.data / name, options.out / name)
            comparisons[name] = compare_set(*folders, voters, features, options.time_limit, options.jobs)
    if not options.no_stress:
        curves = stress_set(options.data / STRESS_SET, options.out / "stress", options.time_limit, options.jobs)
    write_figures(options.docs / "images", comparisons, curves)
    fill_page(options.docs / "paper.md", comparisons, curves)


if __name__ == "__main__":
    main()
