"""The confidence of a run against its true figures, and the rates of `predict`. Last line JSON.

    python benchmarks/confidence.py [DATA] [--sets cows,steel-patches] [--draws 6] [--rates|--high]

Each set as it is, with 10 and with 20 images in each folder, with a tenth of both folders misfiled, and with *without*
images of another scene (those of the next set); then random halves of its *without* folder, 10 + 10 and 20 + 20 images,
in which there is nothing to find. The vote is held on the features of the suite's runs; overlaps are of whole segments.

With ``--rates``: does `predict` keep the false-positive rate asked for? Noise: images of 20 segments of 472 random
features, 12, 20 and 40 in each folder, and 20 new ones; the folders do not differ. Sets: half of the *without*
images are left out of the vote and asked about afterwards.

With ``--high``: does a run that is called high keep what that promises? Draws of 12, 15 and 20 images of each folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import spearmanr

from segvote.method.cross_fit import make_folds, measure_p_value
from segvote.method.graph import search_graph
from segvote.method.table import SegmentTable, make_table, smooth_along, weigh_adjacent
from segvote.method.vote import make_inputs, vote
from suite import SuiteArrays, load_suite, make_parser

SIZES = (10, 20)
MISFILED = 0.1
AS_IT_IS, TEN, RANDOM = "as it is", "10+10", "random"
RATES, RATED_SETS = (0.1, 0.2), "cows,coffee-lesions,blood-cells,potholes,msrc-sign,steel-patches"
SMALL_SIZES = (12, 15, 20)  # of --high
# What a run called high promises of its masks.
LEAST_MIOU, LEAST_CORLOC = 0.65, 0.7
N_FOLDS = 10  # as `predict` calibrates
NOISE_SIZES, N_SEGMENTS, N_DIMS, N_NEW = (12, 20, 40), 20, 472, 20


@dataclass(frozen=True)
class Measured:
    """The confidence of one vote, and its true figures (NaN where there is nothing to find)."""

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
    """Random halves of the *without* folder."""
    rng, clean = np.random.default_rng(5), np.flatnonzero(~one.positive)
    for size in SIZES:
        for _ in range(n_draws):
            half = min(size, len(clean) // 2)
            chosen = one.take(np.sort(rng.choice(clean, 2 * half, replace=False)))
            yield RANDOM, replace(chosen, positive=rng.permutation(2 * half) < half)


def list_small(one: SuiteArrays, n_draws: int) -> Iterator[tuple[str, SuiteArrays]]:
    """Draws of few images of each folder."""
    rng = np.random.default_rng(7)
    for size in SMALL_SIZES:
        for _ in range(n_draws):
            yield f"{size}+{size}", draw(one, size, rng)


def measure(one: SuiteArrays, kind: str) -> Measured:
    found, confidence = one.vote()
    row = (one.name, kind, confidence.value, confidence.level, confidence.p_value)
    if kind == RANDOM:
        return Measured(*row)
    ious = one.measure(found.selection.selected)
    return Measured(*row, float(ious.mean()), float((ious > 0.5).mean()))


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


def summarise_high(rows: list[Measured]) -> dict[str, object]:
    high = [row for row in rows if row.level == "high"]
    broken = [row for row in high if row.miou < LEAST_MIOU or row.corloc < LEAST_CORLOC]
    return {"runs": len(rows), "high": len(high), "broken": [str(row) for row in broken]}


def measure_p_values(table: SegmentTable, X: np.ndarray, images: np.ndarray, adjacency: object = None) -> np.ndarray:
    """(n_new,) p-values of images never seen, of segments (n, d), after a vote on the table."""
    training = vote(make_inputs(table, search_graph(table)))
    scorer, smoothing = training.scorer, training.inputs.params.smoothing
    held_out = table.smooth(training.score_held_out(make_folds(table, N_FOLDS)), smoothing)
    negatives = np.sort(table.max_by_image(held_out)[~table.positive])
    scores = scorer.score(X, scorer.build_graph(X))
    if adjacency is not None:
        scores = smooth_along(adjacency, scores, smoothing)  # type: ignore[arg-type]
    return measure_p_value(np.maximum.reduceat(scores, np.flatnonzero(np.diff(images, prepend=-1))), negatives)


def measure_noise(size: int, seed: int) -> np.ndarray:
    n_images = 2 * size + N_NEW
    X = np.random.default_rng(seed).normal(size=(n_images * N_SEGMENTS, N_DIMS)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    images, old = np.repeat(np.arange(n_images), N_SEGMENTS), 2 * size * N_SEGMENTS
    return measure_p_values(make_table(X[:old], np.arange(2 * size) < size, images[:old]), X[old:], images[old:])


def measure_set(one: SuiteArrays) -> np.ndarray:
    rng = np.random.default_rng(0)
    clean = rng.permutation(np.flatnonzero(~one.positive))
    kept, new = clean[: len(clean) // 2], np.sort(clean[len(clean) // 2 :])
    old, asked = one.take(np.sort(np.concatenate([np.flatnonzero(one.positive), kept]))), one.take(new)
    places = asked.geometry
    adjacency = weigh_adjacent(len(asked.X), places.edges, places.lengths, places.contrasts)
    return measure_p_values(make_table(old.X, old.positive, old.images, old.geometry), asked.X, asked.images, adjacency)


def measure_rates(sets: list[SuiteArrays], n_draws: int) -> dict[str, list[float]]:
    """Share of images without the object that are called, at each of `RATES`."""
    found = {
        f"noise {size}": np.concatenate([measure_noise(size, seed) for seed in range(n_draws)]) for size in NOISE_SIZES
    }
    found |= {one.name: measure_set(one) for one in sets}
    figures = {name: [round(float((p <= rate).mean()), 3) for rate in RATES] for name, p in found.items()}
    for name, (low, high) in figures.items():
        print(f"{name:16} {len(found[name]):4} images, at {RATES[0]}: {low:.3f}, at {RATES[1]}: {high:.3f}")
    return figures


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--draws", type=int, default=6, help="random halves, or draws of noise, of each size")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--rates", action="store_true", help="the rates of predict instead of the confidence")
    part.add_argument("--high", action="store_true", help="small draws instead: which are wrongly high")
    given = parser.parse_args()
    if given.rates:
        given.sets = given.sets or RATED_SETS
        print(json.dumps(measure_rates(load_suite(given), given.draws)))
        return
    sets, rows = load_suite(given), []
    for index, one in enumerate(sets):
        if given.high:
            variants = [*list_small(one, given.draws)]
        else:
            variants = [*list_variants(one, sets[(index + 1) % len(sets)]), *list_random(one, given.draws)]
        for kind, variant in variants:
            rows.append(measure(variant, kind))
            print(rows[-1], flush=True)
    print(json.dumps(summarise_high(rows) if given.high else summarise(rows)))


if __name__ == "__main__":
    main()
