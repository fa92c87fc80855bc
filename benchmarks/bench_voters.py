"""Seconds to fit every voter on 5,000, 20,000 and 50,000 segments with its defaults.

    python benchmarks/bench_voters.py [--quick] [--voters a,b]

Made bags of 100 segments with 64 features, half of them *with*. Every figure is measured; *refused* is what a quadratic
voter says to more pairs than it takes on. Processor seconds are what counts on a machine others use, too; the seconds
that passed are beside them. The last line is JSON: voter to size to both, or to *refused*.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings

from segvote.datasets.bags import make_bags
from segvote.errors import TooLargeError
from segvote.voters import VOTERS

SIZES = (5_000, 20_000, 50_000)
QUICK_SIZES = (2_000,)
BAG_SIZE, N_FEATURES = 100, 64


def time_fit(name: str, n_segments: int) -> dict[str, float] | str:
    """Processor seconds and seconds passed, or the reason why there are none."""
    n_each = n_segments // BAG_SIZE // 2
    X, y, bags, _ = make_bags(n_with=n_each, n_without=n_each, n_segments=BAG_SIZE, n_dims=N_FEATURES)
    voter = VOTERS[name]()  # loads its libraries: not what is timed
    began, cpu_began = time.perf_counter(), time.process_time()
    try:
        voter.fit(X, y, bags=bags)
    except TooLargeError:
        return "refused"
    return {"cpu": round(time.process_time() - cpu_began, 2), "passed": round(time.perf_counter() - began, 2)}


def format_time(taken: dict[str, float] | str) -> str:
    return taken if isinstance(taken, str) else f"{taken['cpu']:.1f} ({taken['passed']:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2,000 segments only")
    parser.add_argument("--voters", default=",".join(VOTERS), help="names of voters, with commas")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="the printed iteration selected")
    sizes = QUICK_SIZES if options.quick else SIZES
    results: dict[str, dict[int, dict[str, float] | str]] = {}
    for name in options.voters.split(","):
        print(f"{name:14}", end="", flush=True)
        results[name] = {}
        for n_segments in sizes:
            results[name][n_segments] = time_fit(name, n_segments)
            print(f"{format_time(results[name][n_segments]):>20}", end="", flush=True)
        print()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
