"""Features made comparable: each column centred and divided by its spread, learned once and applied to new segments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Standard:
    """Centre and spread of every column, each (d,)."""

    centre: np.ndarray
    spread: np.ndarray

    def apply(self, X: np.ndarray) -> np.ndarray:
        """(n, d) float64."""
        return (X - self.centre) / self.spread


def learn_standard(X: np.ndarray) -> Standard:
    """Centre and spread of the columns of (n, d); a column that never changes keeps a spread of one."""
    spread = X.std(axis=0, dtype=np.float64)
    return Standard(X.mean(axis=0, dtype=np.float64), np.where(spread > 1e-12, spread, 1.0))
