"""How far to trust a result, with no mask to compare it with: one word for the run, one number for every image.

Five signs, each in [0, 1], multiplied. *Separability*: Otsu's two classes explain the scores of an image. *Agreement*:
walks under different assumptions end in the same selection. *Contrast*: the outlines follow edges of the pictures.
*Power*: images left out
of the vote are put into the right folder by it. *Shared*: what surrounds the object is seen in *without* images too. On
eleven sets of real images and their variants (few images, a tenth misfiled, other scenes) the product's rank
correlation with the true mean overlap is 0.74 (`benchmarks/confidence.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from segvote.kernels.otsu import split_each
from segvote.method.ballot import Ballot
from segvote.method.consistency import measure_evidence, measure_outline_contrast, measure_overlap
from segvote.method.hypotheses import Agreement
from segvote.method.table import SegmentTable

LEVELS = ("low", "fair", "high")
# Below and above which products a run is called low and high.
LOW, HIGH = 1 / 3, 0.6
# Below this a second opinion and a closer look are worth their time: some way above "high", which is a promise about
# masks.
UNSURE = 0.75
# From here on the mask of an image should be looked at.
UNCERTAIN = 0.5
# Otsu explains three quarters of the variance of almost any scores, and all but a twentieth of those of clear ones.
NO_SEPARABILITY, FULL_SEPARABILITY = 0.75, 0.95
# Contrast of an outline, in units of that of all boundaries, that counts in full.
FULL_CONTRAST = 1.5
# Votes of *without* images for the background of *with* images, as a share of all: from here on scenes are shared, and
# what none at all leaves of the confidence: a scene of their own need not mislead, cows are found against cats indoors.
SHARED, NOT_SHARED = 0.03, 0.5
# So few *with* videos share their ground as easily as the object: fewer than the first number can prove nothing, fewer
# than the second not everything. Two car videos of three against four others are both a car and a piece of road; images
# have outlines on their edges to vouch for them, and come in larger numbers.
PROOF_VIDEOS, ENOUGH_VIDEOS = 3, 5
# Part of an image by whose evidence it is put into a folder.
TOP_SHARE = 0.02
# An object of fewer segments than this is small for them.
FEW_SEGMENTS = 5

REASONS = {
    "few": (
        "too few WITH videos: what they share may be the ground as well as the object, and none are left to check",
        "add videos of the object in other places, or WITHOUT videos of the same places",
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
        The product of the five signs, in [0, 1], or what few videos can prove, if that is less; NaN for a voter whose
        votes are not judged.
    separability, agreement, contrast, power, shared : float
        The signs, each in [0, 1].
    size : float
        How many segments of the mean size the object covers, in the median image.
    contradicted : bool
        Whether this is a second opinion that contradicts the first.
    cause : str
        The weakest sign, or ``few``, a key of `REASONS`; "" where the confidence is high.
    """

    value: float
    separability: float = np.nan
    agreement: float = np.nan
    contrast: float = np.nan
    power: float = np.nan
    shared: float = np.nan
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
    def is_small(self) -> bool:
        """Whether the object is small for the segments: a closer look may show more of it."""
        return bool(self.size <= FEW_SEGMENTS)

    @property
    def reason(self) -> str:
        """Why it is not high, in a few words."""
        return REASONS[self.cause][0] if self.cause else ""

    @property
    def advice(self) -> str:
        """The one thing to try."""
        return REASONS[self.cause][1] if self.cause else ""

    def format_line(self) -> str:
        """One line for a terminal; empty where nothing is known."""
        return format_confidence(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """For `run.json`; empty where nothing is known."""
        if np.isnan(self.value):
            return {}
        figures = {name: round(value, 4) for name, value in asdict(self).items() if isinstance(value, float)}
        words = {"cause": self.cause, "reason": self.reason, "advice": self.advice}
        return {"level": self.level, **figures, "contradicted": self.contradicted, **words}


def format_confidence(found: Mapping[str, Any]) -> str:
    """One line of what `Confidence.to_dict` gave, perhaps long ago; empty where nothing is known."""
    level, reason, advice = (str(found.get(name, "")) for name in ("level", "reason", "advice"))
    return level and f"confidence {level}" + (f": {reason}; {advice}" if reason else "")


def measure_confidence(
    ballot: Ballot,
    scores: np.ndarray,
    selected: np.ndarray,
    agreement: Agreement | None,
    held_out: np.ndarray | None,
    contradicted: bool = False,
) -> Confidence:
    """How far to trust a selection.

    Parameters
    ----------
    ballot : Ballot
        What was voted on.
    scores, selected : (n_segments,)
        Final scores; bool.
    agreement : Agreement, optional
        Of the hypotheses; None for another voter, whose votes are not judged.
    held_out : (n_segments,), optional
        Scores of every segment as if its image had not been there.
    contradicted : bool
        Whether the selection is a second opinion that contradicts the first: it is then not called high.
    """
    if agreement is None or held_out is None:
        return Confidence(np.nan)
    table = ballot.table
    signs = {
        "separability": float(np.mean(_measure_separability(ballot, scores))),
        "agreement": float(np.mean([measure_overlap(table.areas, one, selected) for one in agreement.selections])),
        "contrast": _scale(np.log(max(measure_outline_contrast(table, selected), 1e-9)), 0.0, np.log(FULL_CONTRAST)),
        "power": _measure_power(table, ballot.smooth(held_out), ballot.excluded),
        "shared": _measure_shared(ballot, selected),
    }
    size, most = _measure_size(table, selected), 1.0
    inside = table.is_candidate[table.edges[:, 0]]
    if np.isnan(table.contrasts[inside]).all():
        # Outlines cannot be judged where colours are not known.
        signs["contrast"] = 1.0
        # Adjacent segments without colours: videos.
        most = _limit_by_number(int(table.positive.sum())) if inside.any() else 1.0
    value = min(float(np.prod(list(signs.values()))), most)
    cause = "" if value >= HIGH else "few" if most < 1 else _find_cause(signs, size)
    found = Confidence(value, cause=cause, size=size, **signs)  # type: ignore[arg-type]
    return replace(found, value=min(value, HIGH - 1e-4), contradicted=True, cause="scene") if contradicted else found


def _limit_by_number(n_videos: int) -> float:
    """The most that so many *with* videos can prove: just below `LOW`, just below `HIGH`, or everything."""
    return LOW - 1e-4 if n_videos < PROOF_VIDEOS else HIGH - 1e-4 if n_videos < ENOUGH_VIDEOS else 1.0


def _measure_size(table: SegmentTable, selected: np.ndarray) -> float:
    """Segments of the mean size that the selection (n_segments,) covers in the median *with* image."""
    parts = table.sum_by_image(table.shares * selected) * np.diff(table.offsets)
    return float(np.median(parts[table.positive]))


def _find_cause(signs: dict[str, float], size: float) -> str:
    if signs["power"] < 0.6:
        return "alike"
    if size <= FEW_SEGMENTS:
        return "small"
    causes = {"separability": "repeats", "agreement": "scene", "contrast": "outlines", "shared": "background"}
    return causes[min(causes, key=lambda name: signs[name])]


def measure_uncertainty(
    ballot: Ballot, scores: np.ndarray, selected: np.ndarray, agreement: Agreement | None
) -> np.ndarray:
    """(n_images,) one minus separability times agreement of each *with* image; 0 for *without* images.

    Of the masks below `UNCERTAIN` 97 % overlap the truth by more than half on seven sets of photographs.
    """
    table, uncertainty = ballot.table, np.zeros(ballot.table.n_images)
    certainty = np.array(_measure_separability(ballot, scores))
    if agreement is not None:
        parts = [ballot.split(one) for one in (table.areas, selected, *agreement.selections)]
        for image, (areas, own, *others) in enumerate(zip(*parts, strict=True)):
            certainty[image] *= np.mean([measure_overlap(areas, one, own) for one in others])
    uncertainty[table.positive] = 1 - certainty
    return uncertainty


def _measure_separability(ballot: Ballot, scores: np.ndarray) -> list[float]:
    """Of each *with* image, from 0 where any scores would do as well to 1."""
    separabilities = split_each(ballot.split(scores), ballot.split(ballot.table.areas))[1]
    return [_scale(one, NO_SEPARABILITY, FULL_SEPARABILITY) for one in separabilities]


def _measure_power(table: SegmentTable, held_out: np.ndarray, excluded: np.ndarray) -> float:
    """2 AUC - 1 of *with* against *without* images by the evidence of images left out of the vote, at least 0.

    Images that are excluded, as likely in the wrong folder, do not count against it.
    """
    from sklearn.metrics import roc_auc_score

    kept = ~excluded[table.offsets[:-1]]
    evidence = measure_evidence(table, held_out, TOP_SHARE)
    return max(0.0, 2 * float(roc_auc_score(table.positive[kept], evidence[kept])) - 1)


def _measure_shared(ballot: Ballot, selected: np.ndarray) -> float:
    """Whether the unselected part of *with* images has neighbours in *without* images, in [`NOT_SHARED`, 1]."""
    table = ballot.table
    rest = table.is_candidate & ~selected
    if not rest.any():
        return NOT_SHARED
    shares = ballot.count_share(~table.is_candidate)[rest]
    return NOT_SHARED + (1 - NOT_SHARED) * _scale(float(np.average(shares, weights=table.areas[rest])), 0.0, SHARED)


def _scale(value: float, low: float, high: float) -> float:
    return float(np.clip((value - low) / (high - low), 0.0, 1.0))
