"""The paper's figures as data: Table 1 (CorLoc of five methods, twelve columns) and the shots per class behind it.

From Wang, Li, Lu, "Weakly supervised segment annotation via expectation kernel density estimation" (arXiv 1812.06228).
The paper prints two decimals; its "average precision" is CorLoc, per shot, averaged over classes.
"""

from __future__ import annotations

# Shots of YouTube-Objects per class, inferred: they sum to the paper's 151.
PAPER_SHOTS: dict[str, int] = {
    "aeroplane": 9, "bird": 6, "boat": 17, "car": 8, "cat": 18, "cow": 20, "dog": 27, "horse": 17, "motorbike": 11,
    "train": 18,
}  # fmt: skip
# Columns of Table 1: PittCar, the ten classes of YouTube-Objects, and their mean as printed.
PITTCAR, MEAN = "pittcar", "mean"
COLUMNS = (PITTCAR, *PAPER_SHOTS, MEAN)
PAPER_TABLE: dict[str, tuple[float, ...]] = {
    "eKDE_deep": (0.73, 0.67, 0.83, 0.76, 0.88, 0.72, 0.70, 0.74, 0.71, 0.64, 0.56, 0.72),
    "eKDE": (0.49, 0.56, 0.83, 0.59, 0.75, 0.61, 0.70, 0.59, 0.35, 0.27, 0.17, 0.54),
    "OBoW": (0.47, 0.22, 0.50, 0.35, 0.88, 0.56, 0.65, 0.56, 0.41, 0.27, 0.33, 0.47),
    "CRANE": (0.21, 0.00, 0.33, 0.35, 0.75, 0.33, 0.45, 0.26, 0.24, 0.27, 0.17, 0.32),
    "MILBoost": (0.35, 0.11, 0.33, 0.24, 0.38, 0.28, 0.15, 0.30, 0.12, 0.10, 0.17, 0.22),
}
# The paper's methods in our words: voter and features.
PAPER_METHODS: dict[str, tuple[str, str]] = {
    "eKDE_deep": ("ekde-paper", "lite0"),
    "eKDE": ("ekde-paper", "bow"),
    "OBoW": ("obow", "bow"),
    "MILBoost": ("milboost", "bow"),
    "CRANE": ("crane", "bow"),
}
# Data sets that hold shots of YouTube-Objects, by how their names begin.
SHOTS_OF_YOUTUBE = ("youtube-objects", "jain-grauman", "tang-segments")


def find_paper_corloc(set_name: str, class_name: str, method: str) -> float | None:
    """The paper's CorLoc of a method on a class of a data set; None where Table 1 has no such figure.

    Every version of YouTube-Objects, and every truth for it, is compared with the same columns.
    """
    if set_name == PITTCAR:
        column = PITTCAR
    elif set_name.startswith(SHOTS_OF_YOUTUBE) and class_name in PAPER_SHOTS:
        column = class_name
    else:
        return None
    return PAPER_TABLE[method][COLUMNS.index(column)] if method in PAPER_TABLE else None


def measure_resolution(shots: dict[str, int]) -> float:
    """Weight of one shot in the mean over classes, at most: smaller differences of that mean do not count."""
    return 1 / (len(shots) * min(shots.values()))
