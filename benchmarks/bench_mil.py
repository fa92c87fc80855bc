"""Bag accuracy on musk1 and instance precision on birdsong, for every voter that can.

    python benchmarks/bench_mil.py DATA [--quick] [--part musk|birdsong]

DATA holds ``musk1.csv`` (label, bag id, 166 features) and ``birdsong/hja_birdsong_*.txt``. Features are standardised:
on musk1 by the training folds, on birdsong by all segments. Figures are mean, lowest and highest.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from harness import Given, run_parts
from segvote.voters import VOTERS
from segvote.voters.bags import BagVoter
from segvote.voters.base import BaseVoter

DATA = Path("../shared/data/mil")
N_FOLDS, N_REPEATS = 10, 3
QUICK_SPECIES = (5, 9)
# Beside the default, which runs to its end: the printed iteration stopped early, at bandwidths around the best.
EARLY = {
    f"ekde-paper, 5 rounds, s = {bandwidth}": {
        "bandwidth_for": bandwidth,
        "bandwidth_against": bandwidth,
        "max_iter": 5,
        "own_bag": False,
    }
    for bandwidth in (1.0, 2.0, 3.0)
}


def read_musk(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features (476, 166), the bag's label and the bag id of every instance."""
    table = np.loadtxt(folder / "musk1.csv", delimiter=",")
    return table[:, 2:], table[:, 0].astype(int), table[:, 1].astype(int)


def measure_musk(make: Callable[[], BagVoter], data: tuple[np.ndarray, ...], n_repeats: int) -> list[float]:
    """Bag accuracy of ten-fold cross-validation, once per shuffle of the folds."""
    _, labels, bags = data
    names, first = np.unique(bags, return_index=True)
    bag_labels = labels[first]
    accuracies = []
    for seed in range(n_repeats):
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(names, bag_labels)
        right = sum(count_right(make(), data, names[train], names[test], bag_labels[test]) for train, test in folds)
        accuracies.append(right / len(names))
    return accuracies


def count_right(
    voter: BagVoter, data: tuple[np.ndarray, ...], train_bags: np.ndarray, test_bags: np.ndarray, truth: np.ndarray
) -> int:
    X, labels, bags = data
    train, test = np.isin(bags, train_bags), np.isin(bags, test_bags)
    scaler = StandardScaler().fit(X[train])
    voter.fit(scaler.transform(X[train]), labels[train], bags=bags[train])
    return int((voter.predict_bags(scaler.transform(X[test]), bags[test]) == truth).sum())


def read_birdsong(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[int, set[int]]]:
    """Standardised features (10232, 38), bag ids, the species of every instance, and the species of every bag."""
    start = folder / "birdsong" / "hja_birdsong_"
    features = np.loadtxt(f"{start}features.txt", delimiter=",", skiprows=1)
    species = np.loadtxt(f"{start}instance_labels.txt", delimiter=",", skiprows=1).astype(int)[:, 1]
    lines = Path(f"{start}bag_labels.txt").read_text().splitlines()[1:]
    numbers = [[int(number) for number in line.split(",")] for line in lines if line.strip()]
    bag_species = {bag: set(heard) for bag, *heard in numbers}
    return StandardScaler().fit_transform(features[:, 1:]), features[:, 0].astype(int), species, bag_species


def measure_birdsong(make: Callable[[], BaseVoter], data: tuple, species: range | tuple[int, ...]) -> list[float]:
    """Average precision of the instances of *with* bags, one species after the other."""
    X, bags, instance_species, bag_species = data
    precisions = []
    for wanted in species:
        y = np.array([wanted in bag_species[bag] for bag in bags]).astype(int)
        scores = make().fit(X, y, bags=bags).scores_
        precisions.append(float(average_precision_score(instance_species[y == 1] == wanted, scores[y == 1])))
    return precisions


def list_makers(names: list[str]) -> dict[str, Callable[[], BaseVoter]]:
    makers = {name: VOTERS[name] for name in names}
    if "ekde-paper" in names:
        for name, options in EARLY.items():
            makers[name] = lambda options=options: VOTERS["ekde-paper"](**options)
    return makers


def measure(given: Given, kind: str) -> dict[str, Any]:
    folder = given.sets[0] if given.sets else DATA
    if not (folder / "musk1.csv").exists():
        return {"skipped": f"no musk1.csv in {folder}"}
    warnings.filterwarnings("ignore", message="the printed iteration selected")
    data, rows = (read_musk if kind == "musk" else read_birdsong)(folder), {}
    for name, make in list_makers(list(VOTERS)).items():
        if kind == "birdsong":
            values = measure_birdsong(make, data, QUICK_SPECIES if given.quick else range(1, 14))
        elif isinstance(make(), BagVoter):
            values = measure_musk(make, data, 1 if given.quick else N_REPEATS)
        else:
            continue
        rows[name] = [round(float(one), 3) for one in (np.mean(values), min(values), max(values))]
        print(f"{kind:9} {name:32} {rows[name]}", flush=True)
    return rows


if __name__ == "__main__":
    run_parts(__doc__, {kind: partial(measure, kind=kind) for kind in ("musk", "birdsong")})
