"""Confidence in a vote, estimated without masks: a value, and what limits it.

Signs, each in [0, 1], are multiplied. *Separability*: Otsu's two classes explain the scores of an image. *Agreement*:
walks under different hypotheses end in the same selection. *Contrast*: the outlines follow edges of the pictures.
*Power*: a vote without an image puts it into the right folder. *Shared*: *without* images show the background of the
object, too. A permutation test caps the product: a value that shuffled folders reach is never better than low.
`benchmarks/confidence.py` measures all of this against the truth.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np

from segvote.method.consistency import (
    measure_outline_contrast,
    measure_overlap,
    measure_power,
    measure_separability,
)
from segvote.method.permutation import PermutationTest, run_permutation_test
from segvote.method.table import SegmentTable
from segvote.method.vote import Vote

LEVELS = ("low", "fair", "high")
# Below and above which products a run is called low and high.
LOW, HIGH = 0.35, 0.68
# The highest values that are called low and fair.
MOST_LOW, MOST_FAIR = LOW - 1e-4, HIGH - 1e-4
# Below this value a second vote and a closer look are tried: deliberately higher than `HIGH`, which is a claim
# about mask quality.
UNSURE = 0.75
# From here on the mask of an image should be looked at.
UNCERTAIN = 0.5
# Contrast of an outline, in units of that of all boundaries, from which it clearly follows edges. The vote compares
# outlines up to a higher one, `VoteParams.full_contrast`.
CLEAR_CONTRAST = 1.5
# Votes of *without* images for the background of *with* images, as a share of all: from here on scenes are shared; and
# the factor that is left where none is.
SHARED, NOT_SHARED = 0.03, 0.5
# Images of the smaller folder below which a run is never called fair, or high.
FEW_FOR_FAIR, FEW_FOR_HIGH = 6, 10
# Largest p-value of the permutation test for a run to be called fair, or high.
P_VALUE_FOR_FAIR, P_VALUE_FOR_HIGH = 0.1, 0.05
# Self-consistency, corrected by that of shuffled folders, below which a run is never called high: one in twenty random
# folders has the smallest p-value (docs/research/measurements.md).
GAIN_FOR_HIGH = 0.3
# Mean cosine of the position maps of two images from which the selection lies at the same place; at most .69 on sixteen
# sets of real images, of which some show their object in the middle.
SAME_PLACE = 0.85
N_CELLS = 8  # of a position map, along each side
# The best part of an image, by whose evidence it is put into a folder.
EVIDENCE_SHARE = 0.02
# A selection of at most this many segments of mean size, in the median image, counts as small.
FEW_SEGMENTS = 5
# Power below which the folders look alike.
LITTLE_POWER = 0.6
# What limits a confidence: caps, then signs. Their texts are in `segvote.run.advice`.
CAUSES = ("few", "chance", "place", "scene", "rival", "extent", "alike", "small", "repeats", "outlines", "background")


@dataclass(frozen=True)
class Confidence:
    """Confidence in a run: a value in [0, 1], the signs and figures it was made of, and its cause."""

    value: float  # product of the signs, capped; NaN for another voter than the method
    # Signs, each in [0, 1]
    separability: float = np.nan
    agreement: float = np.nan
    contrast: float = np.nan
    power: float = np.nan
    shared: float = np.nan
    # Permutation test
    p_value: float = np.nan  # share of labellings as consistent as the folders
    consistency: float = np.nan  # self-consistency with the folders as they are
    shuffled: float = np.nan  # mean self-consistency with shuffled folders
    # Other figures
    place: float = np.nan  # mean cosine of the position maps of two images, in [0, 1]
    size: float = np.nan  # segments of the mean size that the object covers in the median image
    contradicted: bool = False  # whether this is a second vote that contradicts the first
    cause: str = ""  # the weakest sign or the cap, one of `CAUSES`; "" where the confidence is high

    @property
    def level(self) -> str:
        """``high``, ``fair`` or ``low``; ``unknown`` for another voter than the method."""
        if np.isnan(self.value):
            return "unknown"
        return LEVELS[int(self.value >= LOW) + int(self.value >= HIGH)]

    @property
    def is_low(self) -> bool:
        """Whether the level is ``low``."""
        return self.level == LEVELS[0]

    @property
    def is_small(self) -> bool:
        """Whether the object is small for the segments: a closer look may show more of it."""
        return bool(self.size <= FEW_SEGMENTS)

    @property
    def comparison_value(self) -> float:
        """Value by which looks at different sizes are compared: separability * contrast * power.

        Their features differ, but these three have the same units: the segments and their outlines are the same, and
        power is a rank statistic of the same folders. Agreement depends on how far the hypotheses matter at a size.
        """
        return self.separability * self.contrast * self.power

    def list_figures(self) -> dict[str, float]:
        """All numbers, rounded, by name."""
        return {name: round(value, 4) for name, value in asdict(self).items() if isinstance(value, float)}


def measure_confidence(vote: Vote, test: PermutationTest | None = None, contradicted: bool = False) -> Confidence:
    """Confidence in a vote without user labels; the permutation test of the same folders may be known already.

    A second vote that contradicts the first is not called high.
    """
    table, selected = vote.table, vote.selection.selected
    test = run_permutation_test(vote.inputs) if test is None else test
    signs = _measure_signs(vote)
    # Segments of the mean size that the selection covers in each image.
    sizes = table.sum_by_image(table.shares * selected) * np.diff(table.offsets)
    size, place = float(np.median(sizes[table.positive])), measure_place(table, selected)
    caps = _list_caps(table.bag_labels, test, place, contradicted)
    value = min(float(np.prod(list(signs.values()))), *caps.values())
    return Confidence(
        value,
        **signs,
        p_value=test.p_value,
        consistency=test.observed,
        shuffled=test.mean,
        place=place,
        size=size,
        contradicted=contradicted,
        cause="" if value >= HIGH else _find_cause(value, signs, size, caps),
    )


def _measure_signs(vote: Vote) -> dict[str, float]:
    """Each sign by its name in `Confidence`."""
    table, selected = vote.table, vote.selection.selected
    held_out = table.smooth(vote.score_held_out(), vote.inputs.params.smoothing)
    overlaps = [measure_overlap(table.areas, walked, selected) for walked in vote.diagnostics.hypotheses.selections]
    return {
        "separability": float(np.mean(measure_separability(table, vote.selection.scores))),
        "agreement": float(np.mean(overlaps)),
        "contrast": measure_contrast_sign(table, selected),
        # Images excluded as likely mislabelled count too: leaving them out would flatter folders that differ by chance.
        "power": measure_power(table.measure_top(held_out, EVIDENCE_SHARE), table.positive),
        "shared": _measure_shared(vote),
    }


def limit_to_fair(confidence: Confidence, cause: str) -> Confidence:
    """The confidence, fair at most for this cause."""
    return replace(confidence, value=MOST_FAIR, cause=cause) if confidence.value >= HIGH else confidence


def _list_caps(bag_labels: np.ndarray, test: PermutationTest, place: float, contradicted: bool) -> dict[str, float]:
    """Cause to the highest value that it allows."""
    n_bags = min(bag_labels.sum(), (~bag_labels).sum())
    by_chance = test.p_value > P_VALUE_FOR_HIGH or test.gain < GAIN_FOR_HIGH
    return {
        "few": MOST_LOW if n_bags < FEW_FOR_FAIR else MOST_FAIR if n_bags < FEW_FOR_HIGH else 1.0,
        "chance": MOST_LOW if test.p_value > P_VALUE_FOR_FAIR else MOST_FAIR if by_chance else 1.0,
        "place": MOST_LOW if place > SAME_PLACE else 1.0,
        "scene": MOST_FAIR if contradicted else 1.0,
    }


def _find_cause(value: float, signs: dict[str, float], size: float, caps: dict[str, float]) -> str:
    """The cap that holds the value down, else the weakest sign."""
    holding = [cause for cause, cap in caps.items() if cap <= value]
    if holding:
        return holding[0]
    if signs["power"] < LITTLE_POWER:
        return "alike"
    if size <= FEW_SEGMENTS:
        return "small"
    causes = {"separability": "repeats", "agreement": "scene", "contrast": "outlines", "shared": "background"}
    return causes[min(causes, key=lambda name: signs[name])]


def measure_contrast_sign(table: SegmentTable, selected: np.ndarray) -> float:
    """0 where the outline has the contrast of any boundary, 1 from `CLEAR_CONTRAST` times that on, or where unknown."""
    inside = table.is_candidate[table.edges[:, 0]]
    if np.isnan(table.contrasts[inside]).all():
        return 1.0
    contrast = max(measure_outline_contrast(table, selected), 1e-9)
    return float(np.clip(np.log(contrast) / np.log(CLEAR_CONTRAST), 0.0, 1.0))


def _measure_shared(vote: Vote) -> float:
    """Whether the unselected part of *with* images has neighbours in *without* images, in [`NOT_SHARED`, 1]."""
    table = vote.table
    rest = table.is_candidate & ~vote.selection.selected
    if not rest.any():
        return NOT_SHARED
    shares = (vote.electorate.graph @ (~table.is_candidate).astype(np.float64))[rest]
    part = float(np.average(shares, weights=table.areas[rest]))
    return NOT_SHARED + (1 - NOT_SHARED) * min(part / SHARED, 1.0)


def measure_place(table: SegmentTable, selected: np.ndarray) -> float:
    """Mean cosine of the position maps of two *with* images; 0 for a single image, or where centres are not known.

    The position map of an image is the area of the selection in each of `N_CELLS` x `N_CELLS` cells of the frame.
    """
    images = np.flatnonzero(table.positive & (table.sum_by_image(selected) > 0))
    chosen = selected & np.isin(table.images, images)
    if len(images) < 2 or np.isnan(table.centres[chosen]).any():
        return 0.0
    cells = np.clip((table.centres[chosen] * N_CELLS).astype(np.int64), 0, N_CELLS - 1)
    maps = np.zeros((len(images), N_CELLS**2))
    rows = np.searchsorted(images, table.images[chosen])
    np.add.at(maps, (rows, cells[:, 0] * N_CELLS + cells[:, 1]), table.shares[chosen])
    maps /= np.linalg.norm(maps, axis=1, keepdims=True)
    total = maps.sum(axis=0)
    return float((total @ total - len(maps)) / (len(maps) * (len(maps) - 1)))
