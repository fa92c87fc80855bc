"""What no kernel can compute with."""

from __future__ import annotations

import numpy as np

from segvote.errors import BadInputError


def check_finite(**arrays: np.ndarray) -> None:
    """Refuse NaN and infinity, naming the array and the first row that has one."""
    for name, array in arrays.items():
        # The sum is finite exactly when all entries are (or nearly overflow), and needs no array of its own.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(array.sum(dtype=np.float64)):
                continue
        bad = ~np.isfinite(array.reshape(len(array), -1)).all(axis=1)
        if bad.any():
            raise BadInputError(
                f"{name} must be finite numbers; row {int(np.argmax(bad))} holds NaN or infinity. Remove or replace it"
            )
