"""Bag accuracy on musk1 and instance precision on birdsong, for every voter that can.

    python benchmarks/bench_mil.py DATA [--quick] [--voters a,b] [--part musk|birdsong]

DATA holds ``musk1.csv`` (label, bag id, 166 features) and ``birdsong/hja_birdsong_*.txt``. Features are standardised:
on musk1 by the training folds, on birdsong by all segments. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from segvote.voters import VOTERS
from segvote.voters.base import BaseVoter
from segvote.voters.mil.learning_bags import BagVoter

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


def run(folder: Path, names: list[str], parts: list[str], quick: bool) -> dict[str, dict[str, dict[str, float]]]:
    results: dict[str, dict[str, dict[str, float]]] = {part: {} for part in parts}
    musk = read_musk(folder) if "musk" in parts else None
    birdsong = read_birdsong(folder) if "birdsong" in parts else None
    for name, make in list_makers(names).items():
        if musk is not None and isinstance(make(), BagVoter):
            began = time.perf_counter()
            values = measure_musk(make, musk, 1 if quick else N_REPEATS)
            results["musk"][name] = report("musk", name, values, began)
        if birdsong is not None:
            began = time.perf_counter()
            values = measure_birdsong(make, birdsong, QUICK_SPECIES if quick else range(1, 14))
            results["birdsong"][name] = report("birdsong", name, values, began)
    return results


def report(part: str, name: str, values: list[float], began: float) -> dict[str, float]:
    row = {
        "mean": round(float(np.mean(values)), 3),
        "min": round(min(values), 3),
        "max": round(max(values), 3),
        "seconds": round(time.perf_counter() - began, 1),
    }
    print(
        f"{part:9} {name:32} {row['mean']:.3f}  {row['min']:.3f} to {row['max']:.3f}  {row['seconds']:7.1f} s",
        flush=True,
    )
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=Path("../shared/data/mil"))
    parser.add_argument("--quick", action="store_true", help="one shuffle of the folds, two species")
    parser.add_argument("--voters", default=",".join(VOTERS), help="names of voters, with commas")
    parser.add_argument("--part", choices=("musk", "birdsong"), help="only this set")
    options = parser.parse_args()
    if not (options.data / "musk1.csv").exists():
        print(json.dumps({"skipped": "no musk1.csv in the data folder"}))
        return
    warnings.filterwarnings("ignore", message="the printed iteration selected")
    parts = [options.part] if options.part else ["musk", "birdsong"]
    print(json.dumps(run(options.data, options.voters.split(","), parts, options.quick)))


if __name__ == "__main__":
    main()
