"""Does the confidence of a run follow its true overlap, and can shuffled folders earn it? Last line JSON.

    python benchmarks/confidence.py [DATA] [--sets cows,steel-patches] [--out build/suite] [--draws 6]

Each set as it is, with 10 and with 20 images in each folder, with a tenth of both folders misfiled, and with *without*
images of another scene (those of the next set); then random halves of its *without* folder, 10 + 10 and 20 + 20 images,
in which there is nothing to find. The vote is held on the features of the suite's runs; overlaps are of whole segments.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import spearmanr

from suite import SuiteArrays, load_suite, make_parser

SIZES = (10, 20)
MISFILED = 0.1
AS_IT_IS, TEN, RANDOM = "as it is", "10+10", "random"


@dataclass(frozen=True)
class Measured:
    """One vote: what it was of, its confidence, and its true figures (NaN where there is nothing to find)."""

    name: str
    kind: str
    value: float
    level: str
    p_value: float
    miou: float = np.nan
    corloc: float = np.nan

    def __str__(self) -> str:
        figures = f"CorLoc {self.corloc:4.2f} mIoU {self.miou:5.3f}"
        return f"{self.name:16} {self.kind:12} {figures} {self.value:.2f} {self.level:5} p {self.p_value:.2f}"


def draw(one: SuiteArrays, size: int, rng: np.random.Generator) -> SuiteArrays:
    """So many images of each folder."""
    sides = (np.flatnonzero(one.positive), np.flatnonzero(~one.positive))
    chosen = [rng.choice(side, min(size, len(side)), replace=False) for side in sides]
    return one.take(np.sort(np.concatenate(chosen)))


def misfile(one: SuiteArrays, rng: np.random.Generator) -> SuiteArrays:
    """A tenth of the images of each folder in the other one."""
    positive = one.positive.copy()
    for side in (np.flatnonzero(one.positive), np.flatnonzero(~one.positive)):
        moved = rng.choice(side, max(1, round(MISFILED * len(side))), replace=False)
        positive[moved] = ~one.positive[moved]
    return replace(one, positive=positive)


def list_variants(one: SuiteArrays, other: SuiteArrays) -> Iterator[tuple[str, SuiteArrays]]:
    rng = np.random.default_rng(1)
    yield AS_IT_IS, one
    for size in SIZES:
        yield f"{size}+{size}", draw(one, size, rng)
    yield "misfiled", misfile(one, rng)
    others = other.take(np.flatnonzero(~other.positive))
    yield "other scene", one.take(np.flatnonzero(one.positive)).join(others)


def list_random(one: SuiteArrays, n_draws: int) -> Iterator[tuple[str, SuiteArrays]]:
    """Halves of the *without* folder: nothing tells them apart but chance."""
    rng, clean = np.random.default_rng(5), np.flatnonzero(~one.positive)
    for size in SIZES:
        for _ in range(n_draws):
            half = min(size, len(clean) // 2)
            chosen = one.take(np.sort(rng.choice(clean, 2 * half, replace=False)))
            yield RANDOM, replace(chosen, positive=rng.permutation(2 * half) < half)


def measure(one: SuiteArrays, kind: str) -> Measured:
    judged = one.vote()
    told = judged.confidence
    found = (one.name, kind, told.value, told.level, told.p_value)
    if kind == RANDOM:
        return Measured(*found)
    ious = one.measure(judged.vote.selected)
    return Measured(*found, float(ious.mean()), float((ious > 0.5).mean()))


def summarise(rows: list[Measured]) -> dict[str, object]:
    real, random = [row for row in rows if row.kind != RANDOM], [row for row in rows if row.kind == RANDOM]
    good = {row.name for row in real if row.kind == AS_IT_IS and row.corloc >= 0.9}
    ten = [row.level != "low" for row in real if row.kind == TEN and row.name in good]
    wrong = [row for row in real if row.corloc < 0.5]
    return {
        "correlation": round(float(spearmanr([row.value for row in real], [row.miou for row in real])[0]), 4),
        "runs": len(real),
        "wrongly_high": [f"{row.name} {row.kind}" for row in wrong if row.level == "high"],
        "wrongly_fair": [f"{row.name} {row.kind}" for row in wrong if row.level == "fair"],
        "random": len(random),
        "random_fair": sum(row.level == "fair" for row in random),
        "random_high": sum(row.level == "high" for row in random),
        "ten_of_good_sets": len(ten),
        "ten_fair_or_high": round(float(np.mean(ten)), 4) if ten else None,
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--draws", type=int, default=6, help="random halves of each size and set")
    given = parser.parse_args()
    sets, rows = load_suite(given), []
    for index, one in enumerate(sets):
        variants = [*list_variants(one, sets[(index + 1) % len(sets)]), *list_random(one, given.draws)]
        for kind, variant in variants:
            rows.append(measure(variant, kind))
            print(rows[-1], flush=True)
    print(json.dumps(summarise(rows)))


if __name__ == "__main__":
    main()
