"""What the second opinion is worth: few images of each folder, with it and without; last line JSON.

    python benchmarks/second_opinion.py [DATA] [--sets cows,dogs-not-cats] [--out build/suite]

Draws of 10, 15, 20 and 30 images of each folder vote on the features of the suite's runs; overlaps are of whole
segments. Printed is every draw whose second opinion was adopted, and the means of each set. Then the two constants that
weigh an opinion and the margin are varied: what would have been adopted, and what it would have cost or gained.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product

import numpy as np

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


def measure(drawn: SuiteArrays, margin: float, apart: float) -> tuple[float, float, bool, str]:
    """Mean overlap, CorLoc, whether the second opinion was adopted, and the level of confidence."""
    before = method.MARGIN, second_opinion.APART_WEIGHT
    method.MARGIN, second_opinion.APART_WEIGHT = margin, apart
    try:
        annotator = drawn.fit()
    finally:
        method.MARGIN, second_opinion.APART_WEIGHT = before
    ious = drawn.measure(annotator)
    return float(ious.mean()), float((ious > 0.5).mean()), annotator.is_second_opinion, annotator.confidence_.level


def main() -> None:
    sets = load_suite(make_parser(__doc__).parse_args())
    usual = method.MARGIN, second_opinion.APART_WEIGHT
    gains: dict[tuple[float, float], list[float]] = {}
    for one in sets:
        first, both = [], []
        varied: dict[tuple[float, float], list[float]] = {key: [] for key in product(MARGINS, APART_WEIGHTS)}
        for name, drawn in draw(one):
            first.append(measure(drawn, np.inf, usual[1]))
            both.append(measure(drawn, *usual))
            if both[-1][2]:
                print(
                    f"  {one.name} {name}: mIoU {first[-1][0]:.3f} -> {both[-1][0]:.3f}, "
                    f"CorLoc {first[-1][1]:.2f} -> {both[-1][1]:.2f}, {first[-1][3]} -> {both[-1][3]}",
                    flush=True,
                )
            for key in varied:
                varied[key].append((both[-1] if key == usual else measure(drawn, *key))[0] - first[-1][0])
        for key, values in varied.items():
            gains.setdefault(key, []).append(float(np.mean(values)))
        means = [np.mean([row[0] for row in rows]) for rows in (first, both)]
        print(f"{one.name:16} mIoU {means[0]:.3f} -> {means[1]:.3f} over {len(first)} draws", flush=True)
    table = {f"margin {margin}, apart {apart}": values for (margin, apart), values in gains.items()}
    for name, values in table.items():
        print(f"{name}: mean gain {np.mean(values):+.4f}, worst set {min(values):+.4f}")
    print(json.dumps({name: [round(value, 4) for value in values] for name, values in table.items()}))


if __name__ == "__main__":
    main()
