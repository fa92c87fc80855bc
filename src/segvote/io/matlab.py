"""MATLAB files, read by scipy: one variable by name, and ``ucm2``, the contour maps of gPb-owt-ucm and its kin."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from segvote.errors import BadInputError
from segvote.io.decoding import MAX_PIXELS


def read_mat(path: Path | str, variable: str, max_numbers: int | None = None) -> np.ndarray:
    """Read one variable of a MATLAB file; larger ones than `max_numbers` are refused before they are unpacked."""
    from scipy.io import loadmat, whosmat

    try:
        shapes = {name: shape for name, shape, _ in whosmat(path)}
        _check_variable(path, variable, shapes, max_numbers)
        return np.asarray(loadmat(path, variable_names=[variable])[variable])
    except NotImplementedError as error:
        # scipy reads the formats up to 7; 7.3 is HDF5.
        raise BadInputError(
            f"{path} is a MATLAB file of version 7.3, which is not read; in MATLAB: save(name, '{variable}', '-v7')"
        ) from error
    except BadInputError:
        raise
    except Exception as error:  # damaged files raise whatever the parser stumbles over
        raise BadInputError(f"{path}: expected a MATLAB file, which this is not ({error}); unpack it again") from error


def _check_variable(
    path: Path | str, variable: str, shapes: dict[str, tuple[int, ...]], max_numbers: int | None
) -> None:
    if variable not in shapes:
        raise BadInputError(
            f"{path}: expected the variable {variable!r}, got {', '.join(shapes) or 'none'}; give files that hold it"
        )
    if max_numbers is not None and np.prod(shapes[variable], dtype=float) > max_numbers:
        raise BadInputError(f"{path}: {variable} is {shapes[variable]}; at most {max_numbers} numbers are accepted")


def read_ucm(path: Path | str) -> np.ndarray:
    """Read the array named ``ucm2``: (2 h + 1, 2 w + 1) float64 for an (h, w) image."""
    ucm2 = read_mat(path, "ucm2", 4 * MAX_PIXELS)
    if ucm2.dtype.kind not in "fiu" or not np.isfinite(ucm2).all() or (ucm2 < 0).any():
        raise BadInputError(f"{path}: ucm2 must hold strengths of 0 and above, got {ucm2.dtype}; give contour maps")
    return ucm2.astype(np.float64)
