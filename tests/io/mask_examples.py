"""Masks that break encoders, shared by the tests of this folder."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp


def make_masks() -> dict[str, np.ndarray]:
    """Name to (h, w) bool: the shapes at which formats and their readers usually fail."""
    rng = np.random.default_rng(0)
    hole = np.ones((9, 13), bool)
    hole[2:5, 3:7] = False
    nested = np.pad(np.pad(np.pad(np.ones((3, 3), bool), 2), 1, constant_values=True), 2)
    corner = np.zeros((5, 8), bool)
    corner[-1, -1] = True
    parts = np.zeros((20, 31), bool)
    parts[2:6, 3:9] = parts[10:19, 0:4] = parts[10:12, 20:31] = True
    checks = np.indices((7, 10)).sum(axis=0) % 2 == 0
    two_holes = np.ones((8, 12), bool)
    two_holes[2:4, 2:4] = two_holes[4:6, 4:6] = two_holes[2, 8] = False
    return {
        "empty": np.zeros((6, 11), bool),
        "full": np.ones((7, 5), bool),
        "one pixel": corner,
        "one pixel image": np.ones((1, 1), bool),
        "one row": rng.random((1, 37)) < 0.5,
        "one column": rng.random((41, 1)) < 0.5,
        "hole": hole,
        "holes that touch": two_holes,
        "island in a hole": nested,
        "several parts": parts,
        "checks": checks,
        "odd size": rng.random((17, 33)) < 0.4,
    }


MASKS = make_masks()


def make_large_mask() -> np.ndarray:
    """(3000, 4000) bool: a ring, a bar and a dot, as a camera's picture would have."""
    y, x = np.ogrid[:3000, :4000]
    radius = np.hypot(y - 1500, x - 2000)
    mask = (radius < 1300) & (radius > 700)
    mask[100:160, 17:3983] = True
    mask[2999, 3999] = True
    return mask


def masks(longest: int = 12) -> st.SearchStrategy[np.ndarray]:
    """Random small masks for hypothesis."""
    return hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=longest))
