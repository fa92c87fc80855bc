"""The paper's experiments on the data sets at hand, and the tables of docs/paper.md.

Run it with `make paper`. It compares all voters on each set (with/, without/, masks/): our segments and network for
all, our segments with visual words and the paper's own recipe (gPb, words, second voting) for the paper's methods; then
all pairs of bandwidths of the printed eKDE, then stress. Of each folder it takes the same few images, evenly spread
over the sorted names. Everything is kept in the work folder: stopped, it goes on where it was. The page keeps its text;
only what stands between its markers is written again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from paper_bandwidths import BandwidthTable, measure_bandwidths
from paper_page import Pages, fill_page, write_figures
from segvote.datasets.paper_table import PAPER_METHODS
from segvote.evaluation.compare import Plan, compare
from segvote.evaluation.compare_results import Comparison
from segvote.evaluation.stress import STRESSES, StressCurve, stress
from segvote.run.settings import Settings
from segvote.voters import VOTERS

PHOTOGRAPHS = ("cows", "aeroplanes", "street-cars", "msrc-face", "msrc-sign", "msrc-dog", "dogs-not-cats")
SETS = (*PHOTOGRAPHS, "tile-break", "tile-fray", "steel-patches", "coffee-lesions")
# Images of each folder: with all of them eleven sets take most of a day.
N_IMAGES = 24
PAPER_VOTERS = ("ekde", "ekde-paper", "obow", "milboost", "crane", "negmin", "cam")
# The layers of lite0.
VOTER_OPTIONS = {"activation": {"blocks": (40, 112, 320)}}
# Half of the usual number, which ranks as well: the slowest voters look at all pairs.
N_SEGMENTS = 100
# One look for all: whether a closer one is taken would be decided by one of the competitors.
DETAIL = "coarse"
STRESS_SET = "cows"
STRESS_VOTERS = ("ekde", "ekde-paper", "obow", "milboost", "crane", "negmin", "cam")
# Fewer still: a curve is some sixty votes of each voter.
STRESS_SEGMENTS = 50
STRESS_LEVELS = {"images": (4, 8, 12), "segments": (25, 50, 100)}


@dataclass(frozen=True)
class Job:
    """Where things lie, and how much may be done at once."""

    data: Path
    out: Path
    n_images: int
    time_limit: float | None
    n_jobs: int

    def lay_out(self, name: str) -> tuple[Path, Path, Path]:
        """The chosen images of a set as two folders of links, and its masks."""
        folders = self.out / name / "images" / "with", self.out / name / "images" / "without"
        for folder in folders:
            link_images(self.data / name / folder.name, folder, self.n_images)
        return *folders, self.data / name / "masks"


def link_images(source: Path, target: Path, n_images: int) -> None:
    """Links to `n_images` files of a folder, evenly spread over the sorted names; 0: to all."""
    files = sorted(path for path in source.iterdir() if path.is_file())
    count = min(n_images or len(files), len(files))
    chosen = [files[place * len(files) // count] for place in range(count)]
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in chosen:
        os.symlink(path.resolve(), target / path.name)


def list_passes(voters: Sequence[str]) -> Iterator[Plan]:
    """What is compared on every set, the most telling first: stopped early, it is there."""
    yield Plan(voters=tuple(voters), features=("lite0",), voter_options=VOTER_OPTIONS)
    pairs = (*PAPER_METHODS.values(), ("ekde", "lite0"), ("ekde", "bow"))
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
            known = found[name].results if name in found else []
            found[name] = replace(one, results=[*known, *one.results])
    return found


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
    parser.add_argument("--sets", nargs="+", default=SETS)
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
    voters = tuple(VOTERS) if options.voters == "all" else PAPER_VOTERS
    bandwidths = measure_all_bandwidths(job, options.sets)
    comparisons = compare_all(job, options.sets, voters)
    curves = [] if options.no_stress else stress_set(job, STRESS_SET)
    pages = Pages(comparisons, bandwidths, curves, options.images)
    write_figures(options.docs / "images", pages)
    fill_page(options.docs / "paper.md", pages)


if __name__ == "__main__":
    main()
