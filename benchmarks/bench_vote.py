"""What the vote costs, as a ratio to the search for neighbours on the same features; last line JSON.

    python benchmarks/bench_vote.py [DATA] [--sets street-cars] [--out build/suite] [--quick]

Processor seconds, the least of three: other work on the machine hardly moves their ratio. Without DATA on disk, or with
``--quick``, on random features of the same shape.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import numpy as np

from segvote.kernels import Neighbours
from segvote.method import Geometry, SegmentAnnotator
from segvote.method.graph import N_NEIGHBORS
from suite_arrays import SuiteArrays, load_suite, make_parser

N_IMAGES, N_SEGMENTS, N_DIMS = 60, 100, 64


def take_least(function: Callable[[], object]) -> float:
    """Processor seconds of the cheapest of three calls."""
    found = []
    for _ in range(3):
        started = time.process_time()
        function()
        found.append(time.process_time() - started)
    return min(found)


def make_random() -> SuiteArrays:
    rng = np.random.default_rng(0)
    images, n_segments = np.repeat(np.arange(N_IMAGES), N_SEGMENTS), N_IMAGES * N_SEGMENTS
    X = rng.normal(size=(n_segments, N_DIMS)).astype(np.float32)
    positive = np.arange(N_IMAGES) < N_IMAGES // 2
    X[positive[images] & (np.arange(n_segments) % N_SEGMENTS < 10)] += 2
    pairs = np.flatnonzero(np.diff(images) == 0)
    edges = np.column_stack([pairs, pairs + 1])
    geometry = Geometry(areas=np.full(n_segments, 100.0), edges=edges)
    return SuiteArrays("random", X, images, positive, geometry, (None,) * N_IMAGES)


def measure(one: SuiteArrays) -> dict[str, float]:
    found = Neighbours.search(one.X, N_NEIGHBORS, one.images)
    y = one.positive[one.images]
    search = take_least(lambda: Neighbours.search(one.X, N_NEIGHBORS, one.images))
    vote = take_least(
        lambda: SegmentAnnotator().fit(one.X, y, images=one.images, geometry=one.geometry, neighbours=found)
    )
    print(f"{one.name:16} {len(one.X)} segments: search {search:.2f} s, vote {vote:.2f} s, ratio {vote / search:.2f}")
    return {"search": round(search, 3), "vote": round(vote, 3), "ratio": round(vote / search, 3)}


def main() -> None:
    parser = make_parser(__doc__, sets="street-cars")
    parser.add_argument("--quick", action="store_true", help="random features")
    given = parser.parse_args()
    quick = given.quick or not given.data.is_dir()
    sets = [make_random()] if quick else load_suite(given)
    print(json.dumps({one.name: measure(one) for one in sets}))


if __name__ == "__main__":
    main()
