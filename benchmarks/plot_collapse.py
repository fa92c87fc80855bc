"""Draw docs/images/collapse.svg: the printed iteration with equal bandwidths, and its direction, on made bags.

python benchmarks/plot_collapse.py [FILE]
"""

from __future__ import annotations

import sys
import warnings

import matplotlib
import numpy as np

matplotlib.use("svg")
import matplotlib.pyplot as plt

from segvote.datasets import make_bags
from segvote.voters.paper import PaperEKDE
from segvote.voters.walk import Walk

STEPS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)


def measure(steps: int, X: np.ndarray, y: np.ndarray, bags: np.ndarray, truth: np.ndarray) -> list[float]:
    """Mean weight of object and of background segments of *with* bags: printed, then renormalised."""
    background = (y == 1) & ~truth
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        printed = (
            PaperEKDE(bandwidth_for=3.0, bandwidth_against=3.0, max_iter=steps, tol=0).fit(X, y, bags=bags).weights_
        )
    robust = Walk(n_steps=steps).fit(X, y, bags=bags).weights_
    return [printed[truth].mean(), printed[background].mean(), robust[truth].mean(), robust[background].mean()]


def main() -> None:
    X, y, bags, truth = make_bags(n_odd=0, seed=3)
    curves = np.array([measure(steps, X, y, bags, truth) for steps in STEPS])
    plt.rcParams["svg.hashsalt"] = "segvote"
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)
    for axis, columns, title in zip(
        axes, ((0, 1), (2, 3)), ("as printed, equal bandwidths", "renormalised (walk)"), strict=True
    ):
        axis.plot(STEPS, curves[:, columns[0]], color="#c62828", label="the planted object")
        axis.plot(STEPS, curves[:, columns[1]], color="#1f6f8b", label="background of *with* bags")
        axis.axhline(0.5, color="#999999", linewidth=0.8, linestyle=":")
        axis.set(title=title, xlabel="rounds of voting", xscale="log", ylim=(-0.02, 1.02))
    axes[0].set_ylabel("mean weight w")
    axes[1].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "docs/images/collapse.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
