"""Bags described by their nearness to chosen segments: what MILES, MILIS and DD-SVM classify."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from segvote.errors import TooLargeError
from segvote.voters.mil.learning_bags import Bags

__all__ = ["check_embedding", "embed_bags", "measure_similarity"]

QUERIES_PER_BLOCK = 1024
# Numbers in the largest table of bags by prototypes a linear SVM is given.
LARGEST_TABLE = 100_000_000


def measure_similarity(X: np.ndarray, prototypes: np.ndarray, bandwidth: float) -> np.ndarray:
    """(n, n_prototypes) ``exp(-|x - t|^2 / (2 s^2))``."""
    return np.exp(-0.5 / bandwidth**2 * cdist(X, prototypes, "sqeuclidean"))


def embed_bags(bags: Bags, prototypes: np.ndarray, bandwidth: float) -> np.ndarray:
    """(n_bags, n_prototypes) similarity of the nearest segment of every bag to every prototype."""
    table = np.zeros((len(bags), len(prototypes)))
    codes = bags.codes
    for start in range(0, len(bags.X), QUERIES_PER_BLOCK):
        rows = slice(start, start + QUERIES_PER_BLOCK)
        similarity = measure_similarity(bags.X[rows], prototypes, bandwidth)
        present, first = np.unique(codes[rows], return_index=True)
        table[present] = np.maximum(table[present], np.maximum.reduceat(similarity, first, axis=0))
    return table


def check_embedding(n_bags: int, n_prototypes: int, alternative: str) -> None:
    """Refuse a table that no solver would finish."""
    if n_bags * n_prototypes > LARGEST_TABLE:
        raise TooLargeError(
            f"a table of bags by prototypes may hold {LARGEST_TABLE:.0e} numbers; got {n_bags} bags x {n_prototypes} "
            f"prototypes. {alternative}"
        )
