"""Seconds to fit every voter on 5,000, 20,000 and 50,000 segments with its defaults.

    python benchmarks/bench_voters.py [--quick] [--voters a,b] [--limit SECONDS]

Made bags of 100 segments with 64 features, half of them *with*. A size is not tried when the one before, growing
quadratically, would take longer than the limit. Processor seconds are what counts on a machine others use, too; the
seconds that passed are beside them. The last line is JSON: voter to size to both, or to the reason why there is none.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings

from segvote.datasets.bags import make_bags
from segvote.errors import TooLargeError
from segvote.voting import VOTERS

SIZES = (5_000, 20_000, 50_000)
QUICK_SIZES = (2_000,)
BAG_SIZE, N_FEATURES = 100, 64
# To its end the printed iteration takes up to a thousand rounds, each of them quadratic: five are timed.
OPTIONS = {"ekde-paper": {"bandwidth_for": 8.0, "bandwidth_against": 8.0, "max_iter": 5}}


def time_fit(name: str, n_segments: int) -> dict[str, float] | str:
    """Processor seconds and seconds passed, or the reason why there are none."""
    n_each = n_segments // BAG_SIZE // 2
    X, y, bags, _ = make_bags(n_with=n_each, n_without=n_each, n_segments=BAG_SIZE, n_dims=N_FEATURES)
    voter = VOTERS[name](**OPTIONS.get(name, {}))
    began, cpu_began = time.perf_counter(), time.process_time()
    try:
        voter.fit(X, y, bags=bags)
    except TooLargeError:
        return "refused"
    return {"cpu": round(time.process_time() - cpu_began, 2), "passed": round(time.perf_counter() - began, 2)}


def time_voter(name: str, sizes: tuple[int, ...], limit: float) -> dict[int, dict[str, float] | str]:
    times: dict[int, dict[str, float] | str] = {}
    expected = 0.0
    for index, n_segments in enumerate(sizes):
        times[n_segments] = time_fit(name, n_segments) if expected <= limit else f"about {expected:.0f}"
        taken = times[n_segments]
        growth = (sizes[index + 1] / n_segments) ** 2 if index + 1 < len(sizes) else 1.0
        expected = growth * (taken["cpu"] if isinstance(taken, dict) else expected)
    return times


def format_time(taken: dict[str, float] | str) -> str:
    return taken if isinstance(taken, str) else f"{taken['cpu']:.1f} ({taken['passed']:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2,000 segments only")
    parser.add_argument("--voters", default=",".join(VOTERS), help="names of voters, with commas")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a size may be expected to take")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="the printed iteration selected")
    sizes = QUICK_SIZES if options.quick else SIZES
    results = {}
    for name in options.voters.split(","):
        results[name] = time_voter(name, sizes, options.limit)
        print(f"{name:14}" + "".join(f"{format_time(results[name][size]):>20}" for size in sizes), flush=True)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
