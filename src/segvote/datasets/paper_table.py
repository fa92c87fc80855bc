"""The paper's figures as data: Table 1 (CorLoc of five methods on two sets) and the shots per class behind it.

From Wang, Li, Lu, "Weakly supervised segment annotation via expectation kernel density estimation" (arXiv 1812.06228).
The paper prints two decimals; what it calls average precision is CorLoc, per shot, averaged over classes.
"""

from __future__ import annotations

import csv
from pathlib import Path

from segvote.errors import BadInputError, UnknownNameError

# Shots of YouTube-Objects per class, inferred: they sum to the paper's 151.
PAPER_SHOTS: dict[str, int] = {
    "aeroplane": 9, "bird": 6, "boat": 17, "car": 8, "cat": 18, "cow": 20, "dog": 27, "horse": 17, "motorbike": 11,
    "train": 18,
}  # fmt: skip
# Set to method to CorLoc.
PAPER_CORLOC: dict[str, dict[str, float]] = {
    "pittcar": {"eKDE_deep": 0.73, "eKDE": 0.49, "OBoW": 0.47, "MILBoost": 0.35, "CRANE": 0.21},
    "youtube-objects": {"eKDE_deep": 0.72, "eKDE": 0.54, "OBoW": 0.47, "CRANE": 0.32, "MILBoost": 0.22},
}
# The paper's methods in our words: voter and features.
PAPER_METHODS: dict[str, tuple[str, str]] = {
    "eKDE_deep": ("ekde-paper", "lite0"),
    "eKDE": ("ekde-paper", "bow"),
    "OBoW": ("obow", "bow"),
    "MILBoost": ("milboost", "bow"),
    "CRANE": ("crane", "bow"),
}


def get_paper_corloc(set_name: str, method: str) -> float:
    """The paper's CorLoc of a method on a set; every version of YouTube-Objects is compared with the one column."""
    column = "youtube-objects" if set_name.startswith(("youtube-objects", "jain-grauman")) else set_name
    if column not in PAPER_CORLOC or method not in PAPER_CORLOC[column]:
        raise UnknownNameError(
            f"the paper has no figure for {method!r} on {set_name!r}; it has {', '.join(PAPER_METHODS)} "
            f"on {', '.join(PAPER_CORLOC)}"
        )
    return PAPER_CORLOC[column][method]


def read_class_figures(path: Path | str) -> dict[str, dict[str, float]]:
    """The columns of Table 1 for single classes, typed in by a reader: class to method to CorLoc.

    A CSV file with the head ``class,METHOD,…``, methods of `PAPER_METHODS`, and a line for each class; a cell may be
    empty.
    """
    with open(path, encoding="utf-8", newline="") as file:
        head, *lines = [row for row in csv.reader(file) if row] or [[]]
    unknown = [name for name in head[1:] if name not in PAPER_METHODS]
    if head[:1] != ["class"] or len(head) < 2 or unknown:
        raise BadInputError(f"{path}: expected the head class,{','.join(PAPER_METHODS)}; got {','.join(head)}")
    return {
        line[0]: {
            name: _read_figure(cell, path) for name, cell in zip(head[1:], line[1:], strict=False) if cell.strip()
        }
        for line in lines
    }


def _read_figure(cell: str, path: Path | str) -> float:
    try:
        figure = float(cell)
    except ValueError as error:
        raise BadInputError(f"{path}: expected a CorLoc from 0 to 1; got {cell!r}") from error
    if not 0 <= figure <= 1:
        raise BadInputError(f"{path}: expected a CorLoc from 0 to 1; got {cell}")
    return figure


def measure_resolution(shots: dict[str, int]) -> float:
    """How much one shot is worth in the mean over classes, where it is worth most: less is no difference."""
    return 1 / (len(shots) * min(shots.values()))
