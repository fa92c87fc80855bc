"""A linear SVM with squared hinge by Newton steps, for many rows of few columns, asked again and again.

The problem is that of scikit-learn's ``LinearSVC(dual=False, class_weight="balanced")``, whose answer it gives. Two
things make it faster where labels are guessed in turns: the second derivatives are one matrix product, and a turn
starts from the answer of the turn before.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

# Steps are bounded by this; the problem is convex and nearly quadratic, so that the bound hardly ever matters.
LONGEST_STEP = 1e6
MAX_STEPS = 100
# A gradient this small beside the one at zero ends the steps.
SMALL_GRADIENT = 1e-6


class SquaredHinge:
    """``1/2 |w|^2 + sum_i c_i max(0, 1 - y_i (x_i, 1) . w)^2`` with its derivatives, c_i balancing the two labels.

    Parameters
    ----------
    X
        (n, d).
    labels
        (n,) bool, both values present.
    C
        Inverse strength of the regularisation.
    """

    def __init__(self, X: np.ndarray, labels: np.ndarray, C: float) -> None:
        self.X, self.signs = X, np.where(labels, 1.0, -1.0)
        self.costs = C * len(labels) / (2 * np.where(labels, labels.sum(), (~labels).sum()))

    def measure_gaps(self, w: np.ndarray) -> np.ndarray:
        return np.maximum(0, 1 - self.signs * (self.X @ w[:-1] + w[-1]))

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        gaps = self.measure_gaps(w)
        pulls = 2 * self.costs * gaps * self.signs
        value = 0.5 * w @ w + (self.costs * gaps**2).sum()
        return float(value), w - np.append(pulls @ self.X, pulls.sum())

    def measure_curvature(self, w: np.ndarray) -> np.ndarray:
        """(d + 1, d + 1) second derivatives: of the rows that are not yet right by a margin of one."""
        wrong = np.flatnonzero(self.measure_gaps(w) > 0)
        weights = np.sqrt(2 * self.costs[wrong])
        rows = np.column_stack([self.X[wrong], np.ones(len(wrong))]) * weights[:, None]
        return np.eye(len(w)) + rows.T @ rows


def fit_linear_machine(X: np.ndarray, labels: np.ndarray, C: float, start: np.ndarray | None = None) -> np.ndarray:
    """Slopes (d,) and intercept in one vector (d + 1,); `start` is an earlier answer, for other labels perhaps."""
    loss = SquaredHinge(X, labels, C)
    zero = np.zeros(X.shape[1] + 1)
    found = minimize(
        loss,
        zero if start is None else start,
        jac=True,
        hess=loss.measure_curvature,
        method="trust-exact",
        options={
            "initial_trust_radius": LONGEST_STEP / 10,
            "max_trust_radius": LONGEST_STEP,
            "maxiter": MAX_STEPS,
            "gtol": SMALL_GRADIENT * float(np.linalg.norm(loss(zero)[1])),
        },
    )
    return found.x
