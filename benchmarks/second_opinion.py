"""What the second opinion is worth: few images of each folder, with it and without; last line JSON.

    python benchmarks/second_opinion.py [DATA] [--sets cows,dogs-not-cats] [--out build/suite]

Draws of 10, 15, 20 and 30 images of each folder vote on the features of the suite's runs; overlaps are of whole
segments. Printed is every draw in which the second opinion contradicts the first, and the means of each set. Then the
weight of being apart from the border and the margin are varied: what would have been gained, in the mean and on the
worst set.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from unittest.mock import patch

import numpy as np
from segvote.method.annotator import SegmentAnnotator

from segvote.method import annotator as method
from segvote.method import second_opinion
from suite_arrays import SuiteArrays, load_suite, make_parser

SIZES, N_DRAWS = (10, 15, 20, 30), 2
APART_WEIGHTS, MARGINS = (0.15, 0.3, 0.6), (0.02, 0.05, 0.1)


def draw(one: SuiteArrays) -> Iterator[tuple[str, SuiteArrays]]:
    for size, number in product(SIZES, range(N_DRAWS)):
        rng = np.random.default_rng([size, number])
        folders = (np.flatnonzero(one.positive), np.flatnonzero(~one.positive))
        chosen = [rng.choice(folder, min(size, len(folder)), replace=False) for folder in folders]
        yield f"{size}+{size} ({number})", one.take(np.sort(np.concatenate(chosen)))


def fit(drawn: SuiteArrays, margin: float) -> SegmentAnnotator:
    with patch.object(method, "MARGIN", margin):
        return drawn.fit()


def judge(annotator: SegmentAnnotator, apart: float) -> float:
    with patch.object(second_opinion, "APART_WEIGHT", apart):
        return annotator._judge()


def measure_draw(name: str, drawn: SuiteArrays) -> tuple[float, dict[tuple[float, float], float]]:
    """Mean overlap of the first opinion, and what each pair of constants adds to it."""
    first = fit(drawn, np.inf)
    overlap = float(drawn.measure(first).mean())
    # Any margin is enough: the second opinion, where it contradicts the first.
    second = fit(drawn, -np.inf) if first.confidence_.value < method.UNSURE else first
    if not second.is_second_opinion:
        return overlap, dict.fromkeys(product(APART_WEIGHTS, MARGINS), 0.0)
    other = float(drawn.measure(second).mean())
    margins = {apart: judge(second, apart) - judge(first, apart) for apart in APART_WEIGHTS}
    better = margins[second_opinion.APART_WEIGHT]
    print(
        f"  {drawn.name} {name}: mIoU {overlap:.3f} or {other:.3f}, better by {better:+.3f}, "
        f"confidence {first.confidence_.level} or {second.confidence_.level}",
        flush=True,
    )
    gains = {key: (other - overlap) * (margins[key[0]] > key[1]) for key in product(APART_WEIGHTS, MARGINS)}
    return overlap, gains


def main() -> None:
    sets = load_suite(make_parser(__doc__).parse_args())
    usual = second_opinion.APART_WEIGHT, second_opinion.MARGIN
    gains: dict[tuple[float, float], list[float]] = {key: [] for key in product(APART_WEIGHTS, MARGINS)}
    for one in sets:
        measured = [measure_draw(*drawn) for drawn in draw(one)]
        for key, values in gains.items():
            values.append(float(np.mean([gain[key] for _, gain in measured])))
        first = float(np.mean([overlap for overlap, _ in measured]))
        print(f"{one.name:16} mIoU {first:.3f} -> {first + gains[usual][-1]:.3f}, {len(measured)} draws", flush=True)
    for (apart, margin), values in gains.items():
        print(f"apart {apart}, margin {margin}: mean gain {np.mean(values):+.4f}, worst set {min(values):+.4f}")
    print(json.dumps({f"{apart} {margin}": round(float(np.mean(gain)), 4) for (apart, margin), gain in gains.items()}))


if __name__ == "__main__":
    main()
