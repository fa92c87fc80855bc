"""How far to trust a result, with no mask to compare it with: one word for the run, one number for every image.

Signs, each in [0, 1], are multiplied. *Separability*: Otsu's two classes explain the scores of an image. *Agreement*:
walks under different assumptions end in the same selection. *Contrast*: the outlines follow edges of the pictures.
*Power*: images left out of the vote, and of all that learned from it, are put into the right folder by it. *Shared*:
what surrounds the object is seen in *without* images too. A permutation test caps the product: what shuffled folders
reach as well is never better than low. `benchmarks/confidence.py` measures all of this against the truth.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from segvote.method.decide import measure_outline_contrast, measure_overlap
from segvote.method.held_out import score_held_out
from segvote.method.permutation import PermutationTest, test_permutations
from segvote.method.table import SegmentTable
from segvote.method.vote import Vote, measure_separability

LEVELS = ("low", "fair", "high")
# Below and above which products a run is called low and high.
LOW, HIGH = 0.35, 0.65
# Below this a second opinion and a closer look are worth their time: some way above "high", which is a promise about
# masks.
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
# folders has the smallest p-value. Of 192 random halves one passed all other checks, with .22; whole sets have .36 on.
GAIN_FOR_HIGH = 0.3
# Mean cosine of the position maps of two images from which the selection lies at the same place; at most .69 on sixteen
# sets of real images, of which some show their object in the middle.
SAME_PLACE = 0.85
N_CELLS = 8  # of a position map, along each side
# Part of an image by whose evidence it is put into a folder.
TOP_SHARE = 0.02
# An object of fewer segments than this is small for them.
FEW_SEGMENTS = 5

REASONS = {
    "few": (
        "too few images: so few share something by chance",
        "add images until each folder has ten or more",
    ),
    "chance": (
        "shuffled folders agree as well as these: any two folders could have given this result",
        "check that every WITH image shows the object and no WITHOUT image does, or add images",
    ),
    "place": (
        "the selection lies at the same place in nearly every image: a frame, a logo, a lamp?",
        "crop the images, or add WITHOUT images that show the same there",
    ),
    "alike": (
        "the folders look alike: images left out of the vote are not put into the right one",
        "check that every WITH image shows the object and no WITHOUT image does, or add images",
    ),
    "small": (
        "the object is about as small as one segment",
        "give larger images, or look closer: --detail fine",
    ),
    "scene": (
        "different assumptions about the background select different things: the folders may differ by scene",
        "add WITHOUT images of the same places without the object, or correct a few segments in `segvote review`",
    ),
    "background": (
        "what surrounds the object is nowhere in the WITHOUT images: the folders differ by scene",
        "add WITHOUT images of the same places without the object",
    ),
    "repeats": (
        "nothing repeats clearly: the scores of object and background overlap",
        "add images of the object that look alike, or correct a few segments in `segvote review`",
    ),
    "outlines": (
        "the outlines do not follow edges of the pictures",
        "look at the masks; more segments (--n-segments) may follow the object better",
    ),
}


@dataclass(frozen=True)
class Confidence:
    """How far to trust a run.

    Attributes
    ----------
    value : float
        The product of the signs, in [0, 1], capped by the permutation test and the number of images; NaN for a voter
        whose votes are not judged.
    separability, agreement, contrast, power, shared : float
        The signs, each in [0, 1].
    p_value, consistency, shuffled : float
        Of the permutation test: share of labellings as consistent as the folders; self-consistency with the folders as
        they are, and its mean with shuffled ones.
    place : float
        How much the selections of two images lie at the same place of the frame, in [0, 1].
    size : float
        How many segments of the mean size the object covers, in the median image.
    contradicted : bool
        Whether this is a second opinion that contradicts the first.
    cause : str
        The weakest sign, a key of `REASONS`; "" where the confidence is high.
    """

    value: float
    separability: float = np.nan
    agreement: float = np.nan
    contrast: float = np.nan
    power: float = np.nan
    shared: float = np.nan
    p_value: float = np.nan
    consistency: float = np.nan
    shuffled: float = np.nan
    place: float = np.nan
    size: float = np.nan
    contradicted: bool = False
    cause: str = ""

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
    def look(self) -> float:
        """By which looks at different sizes are compared: separability * contrast * power.

        Their features differ, but these are of the same units: the segments and their outlines are the same, and power
        is a rank statistic of the same folders. Agreement is not: it tells how far the assumptions matter at a size.
        """
        return self.separability * self.contrast * self.power

    @property
    def reason(self) -> str:
        """Why it is not high, in a few words."""
        return REASONS[self.cause][0] if self.cause else ""

    @property
    def advice(self) -> str:
        """The one thing to try."""
        return REASONS[self.cause][1] if self.cause else ""

    def to_dict(self) -> dict[str, Any]:
        """For `run.json`; empty where nothing is known."""
        if np.isnan(self.value):
            return {}
        figures = {name: round(value, 4) for name, value in asdict(self).items() if isinstance(value, float)}
        words = {"cause": self.cause, "reason": self.reason, "advice": self.advice}
        return {"level": self.level, **figures, "contradicted": self.contradicted, **words}


def measure_confidence(found: Vote, test: PermutationTest | None = None, contradicted: bool = False) -> Confidence:
    """How far to trust a vote.

    Parameters
    ----------
    found : Vote
        Without user labels.
    test : PermutationTest, optional
        Of the same folders, if it is known.
    contradicted : bool
        Whether the vote is a second opinion that contradicts the first: it is then not called high.
    """
    if found.agreement is None:
        return Confidence(np.nan)
    table, selected = found.table, found.selected
    test = test_permutations(found) if test is None else test
    overlaps = [measure_overlap(table.areas, one, selected) for one in found.agreement.selections]
    signs = {
        "separability": float(np.mean(measure_separability(table, found.scores))),
        "agreement": float(np.mean(overlaps)),
        "contrast": measure_contrast_sign(table, selected),
        "power": _measure_power(found),
        "shared": _measure_shared(found),
    }
    size = _measure_size(table, selected)
    place = measure_place(table, selected)
    caps = _list_caps(table, test, place, contradicted)
    value = min(float(np.prod(list(signs.values()))), *caps.values())
    cause = "" if value >= HIGH else _find_cause(value, signs, size, caps)
    tested = {"p_value": test.p_value, "consistency": test.observed, "shuffled": test.mean}
    return Confidence(value, **signs, **tested, place=place, size=size, contradicted=contradicted, cause=cause)


def _list_caps(table: SegmentTable, test: PermutationTest, place: float, contradicted: bool) -> dict[str, float]:
    """Cause to the highest value that it allows."""
    low, fair = LOW - 1e-4, HIGH - 1e-4
    n_images = min(_count_groups(table, True), _count_groups(table, False))
    by_chance = test.p_value > P_VALUE_FOR_HIGH or test.gain < GAIN_FOR_HIGH
    return {
        "few": low if n_images < FEW_FOR_FAIR else fair if n_images < FEW_FOR_HIGH else 1.0,
        "chance": low if test.p_value > P_VALUE_FOR_FAIR else fair if by_chance else 1.0,
        "place": low if place > SAME_PLACE else 1.0,
        "scene": fair if contradicted else 1.0,
    }


def _count_groups(table: SegmentTable, positive: bool) -> int:
    return len(np.unique(table.groups[table.positive == positive]))


def _find_cause(value: float, signs: dict[str, float], size: float, caps: dict[str, float]) -> str:
    """The cap that holds the value down, else the weakest sign."""
    holding = [cause for cause, cap in caps.items() if cap <= value]
    if holding:
        return holding[0]
    if signs["power"] < 0.6:
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


def _measure_size(table: SegmentTable, selected: np.ndarray) -> float:
    """Segments of the mean size that the selection (n_segments,) covers in the median *with* image."""
    parts = table.sum_by_image(table.shares * selected) * np.diff(table.offsets)
    return float(np.median(parts[table.positive]))


def _measure_power(found: Vote) -> float:
    """2 AUC - 1 of *with* against *without* images by the evidence of images left out of the vote, at least 0.

    Images excluded as likely mislabelled count too: leaving them out would flatter folders that differ by chance.
    """
    from sklearn.metrics import roc_auc_score

    table = found.table
    held_out = table.smooth(score_held_out(found), found.params.smoothing)
    evidence = table.measure_top(held_out, TOP_SHARE)
    return max(0.0, 2 * float(roc_auc_score(table.positive, evidence)) - 1)


def _measure_shared(found: Vote) -> float:
    """Whether the unselected part of *with* images has neighbours in *without* images, in [`NOT_SHARED`, 1]."""
    table = found.table
    rest = table.is_candidate & ~found.selected
    if not rest.any():
        return NOT_SHARED
    shares = (found.counted_graph @ (~table.is_candidate).astype(np.float64))[rest]
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
