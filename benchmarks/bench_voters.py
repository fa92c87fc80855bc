"""Voters measured alone: seconds to fit, bag and instance figures of two MIL sets.

    python benchmarks/bench_voters.py [--part fits|sums|musk|birdsong] [--quick] [MIL_FOLDER]

- ``fits``: processor seconds of every voter with its defaults on 5,000, 20,000 and 50,000 made segments of 64 features,
  or *refused*: a quadratic voter refuses too many pairs.
- ``sums``: processor seconds on one thread of exact sums of Gaussian kernels of 20,000 segments of 472 features at each
  other, of the matrix product alone that their distances come from, and of the same sums by scikit-learn's
  `KernelDensity` and by scipy's `cdist`, these two at a tenth of the queries; ratios are for equal numbers of queries.
- ``musk``, ``birdsong``: MIL_FOLDER holds ``musk1.csv`` (label, bag id, 166 features) and
  ``birdsong/hja_birdsong_*.txt``. Bag accuracy of ten-fold cross-validation, and average precision of the instances of
  *with* bags, species by species: mean, lowest, highest. Features are standardised, on musk1 by the training folds.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KernelDensity
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from harness import Given, measure_seconds, run_parts
from segvote.datasets import make_bags
from segvote.errors import TooLargeError
from segvote.numerics.gaussian import QUERIES_PER_BLOCK, VOTERS_PER_BLOCK, sum_kernel
from segvote.numerics.points import list_blocks
from segvote.voters import VOTERS
from segvote.voters.bags import BagVoter
from segvote.voters.base import BaseVoter
from segvote.voters.paper import PaperEKDE

MIL = Path("../shared/data/mil")
SIZES, QUICK_SIZES, BAG_SIZE, N_FEATURES = (5_000, 20_000, 50_000), (2_000,), 100, 64
N_FOLDS, N_REPEATS = 10, 3
QUICK_SPECIES = (5, 9)
# Beside the default, which runs to its end: the printed iteration stopped early, at bandwidths around the best.
EARLY = {
    f"ekde-paper, 5 rounds, s = {width}": partial(
        PaperEKDE, bandwidth_for=width, bandwidth_against=width, max_iter=5, own_bag=False
    )
    for width in (1.0, 2.0, 3.0)
}


# Time ----------------------------------------------------------------------------------------------------------------


def time_fits(given: Given) -> dict[str, Any]:
    warnings.filterwarnings("ignore", message="the printed iteration selected")
    return {
        f"{name} {n_segments}": time_fit(name, n_segments)
        for name in VOTERS
        for n_segments in (QUICK_SIZES if given.quick else SIZES)
    }


def time_fit(name: str, n_segments: int) -> float | str:
    n_each = n_segments // BAG_SIZE // 2
    X, y, bags, _ = make_bags(n_with=n_each, n_without=n_each, n_segments=BAG_SIZE, n_dims=N_FEATURES)
    voter = VOTERS[name]()  # loads its libraries, which is not timed
    try:
        return measure_seconds(lambda: voter.fit(X, y, bags=bags), time.process_time)[1]
    except TooLargeError:
        return "refused"


# Sums of kernels ------------------------------------------------------------------------------------------------------


def compare_sums(given: Given) -> dict[str, Any]:
    n_points, width = 2_000 if given.quick else 20_000, 20.0
    points = np.random.default_rng(0).normal(size=(n_points, 472)).astype(np.float32)
    asked = points[: n_points // 10]
    density = KernelDensity(kernel="gaussian", bandwidth=width).fit(points)
    with threadpool_limits(1):
        _, product = measure_seconds(lambda: multiply(points, points), time.process_time)
        exact, sums = measure_seconds(lambda: sum_kernel(points, points, [width], n_threads=1)[0], time.process_time)
        _, by_sklearn = measure_seconds(lambda: density.score_samples(asked), time.process_time)
        plain, by_scipy = measure_seconds(lambda: sum_plainly(asked, points, width), time.process_time)
    return {
        "seconds_product": product,
        "seconds_sums": sums,
        "sums_over_product": sums / product,
        "kernel_density_over_sums": 10 * by_sklearn / sums,
        "scipy_over_sums": 10 * by_scipy / sums,
        "largest_relative_error": float(np.max(np.abs(exact[: len(asked)] / plain - 1))),
    }


def multiply(queries: np.ndarray, points: np.ndarray) -> None:
    """The products of all pairs, in blocks as `sum_kernel` has them."""
    for rows in list_blocks(len(queries), QUERIES_PER_BLOCK):
        for columns in list_blocks(len(points), VOTERS_PER_BLOCK):
            queries[rows] @ points[columns].T


def sum_plainly(queries: np.ndarray, points: np.ndarray, width: float) -> np.ndarray:
    """(n_queries,) sums of kernels by all distances in float64, a few rows at a time."""
    blocks = [cdist(queries[rows], points, "sqeuclidean") for rows in list_blocks(len(queries), QUERIES_PER_BLOCK)]
    return np.concatenate([np.exp(-squared / (2 * width**2)).sum(axis=1) for squared in blocks])


# Multiple-instance learning ------------------------------------------------------------------------------------------


def read_musk(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features (476, 166), the bag's label and the bag id of every instance."""
    table = np.loadtxt(folder / "musk1.csv", delimiter=",")
    return table[:, 2:], table[:, 0].astype(int), table[:, 1].astype(int)


def measure_musk(make: Callable[[], BagVoter], data: tuple[np.ndarray, ...], n_repeats: int) -> list[float]:
    """Bag accuracy of cross-validation, once per shuffle of the folds."""
    X, labels, bags = data
    names, first = np.unique(bags, return_index=True)
    accuracies = []
    for seed in range(n_repeats):
        n_right = 0
        for train, test in StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(names, labels[first]):
            known, asked = np.isin(bags, names[train]), np.isin(bags, names[test])
            scaler, voter = StandardScaler().fit(X[known]), make()
            voter.fit(scaler.transform(X[known]), labels[known], bags=bags[known])
            found = voter.predict_bags(scaler.transform(X[asked]), bags[asked])
            n_right += int((found == labels[first][test]).sum())
        accuracies.append(n_right / len(names))
    return accuracies


def read_birdsong(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[int, set[int]]]:
    """Standardised features (10232, 38), bag ids, the species of every instance, and the species of every bag."""
    start = folder / "birdsong" / "hja_birdsong_"
    features = np.loadtxt(f"{start}features.txt", delimiter=",", skiprows=1)
    species = np.loadtxt(f"{start}instance_labels.txt", delimiter=",", skiprows=1).astype(int)[:, 1]
    lines = Path(f"{start}bag_labels.txt").read_text().splitlines()[1:]
    numbers = [[int(number) for number in line.split(",")] for line in lines if line.strip()]
    bag_species = {bag: set(heard) for bag, *heard in numbers}
    return StandardScaler().fit_transform(features[:, 1:]), features[:, 0].astype(int), species, bag_species


def score_species(make: Callable[[], BaseVoter], data: tuple, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the instances of *with* bags, and which of them are of the species."""
    X, bags, species, bag_species = data
    y = np.array([wanted in bag_species[bag] for bag in bags]).astype(int)
    return make().fit(X, y, bags=bags).scores_[y == 1], species[y == 1] == wanted


def measure_mil(given: Given, kind: str) -> dict[str, Any]:
    folder = given.sets[0] if given.sets else MIL
    if not (folder / "musk1.csv").exists():
        return {"skipped": f"no musk1.csv in {folder}"}
    warnings.filterwarnings("ignore", message="the printed iteration selected")
    data, rows = (read_musk if kind == "musk" else read_birdsong)(folder), {}
    makers: dict[str, Callable[[], Any]] = {**{name: VOTERS[name] for name in VOTERS}, **EARLY}
    for name, make in makers.items():
        if kind == "birdsong":
            found = [score_species(make, data, one) for one in (QUICK_SPECIES if given.quick else range(1, 14))]
            values = [float(average_precision_score(truth, scores)) for scores, truth in found]
        elif isinstance(make(), BagVoter):
            values = measure_musk(make, data, 1 if given.quick else N_REPEATS)
        else:
            continue
        rows[name] = [round(float(one), 3) for one in (np.mean(values), min(values), max(values))]
        print(f"{kind:9} {name:32} {rows[name]}", flush=True)
    return rows


PARTS = {
    "fits": time_fits,
    "sums": compare_sums,
    "musk": partial(measure_mil, kind="musk"),
    "birdsong": partial(measure_mil, kind="birdsong"),
}

if __name__ == "__main__":
    run_parts(__doc__, PARTS)
