"""Confidence in a vote, estimated without masks; a second vote where it is not sure.

Signs, each in [0, 1], are multiplied. *Separability*: Otsu's two classes explain the scores of an image. *Agreement*:
walks under different hypotheses end in the same selection. *Contrast*: the outlines follow edges of the pictures.
*Power*: a vote without an image puts it into the right folder. *Shared*: *without* images show the background of the
object, too. A permutation test caps the product: a value that shuffled folders reach is never better than low.
`benchmarks/confidence.py` measures all of this against the truth.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from segvote.method.decide import (
    measure_consistency,
    measure_outline_contrast,
    measure_overlap,
    select,
    select_separable,
)
from segvote.method.graph import search_stretched_graph
from segvote.method.held_out import measure_power
from segvote.method.hypotheses import Hypothesis, VoteParams, value_contrast
from segvote.method.table import SegmentTable
from segvote.method.vote import Vote, measure_separability, score_held_out, vote

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
# The best part of an image, by whose evidence it is put into a folder.
EVIDENCE_SHARE = 0.02
# An object of fewer segments than this is small for them.
FEW_SEGMENTS = 5
# Of the permutation test: 19 shuffles, so that the smallest p-value is 0.05; rounds of a walk, and exponents tried on
# its votes, fewer than in a vote.
N_SHUFFLES, N_SHUFFLED_STEPS, SHUFFLED_POWERS = 19, 12, (1.0, 0.5, 0.25)
SEED = 0
# Of a second vote, which costs a search of its own: from so many segments on there are enough images for the first.
MOST_SEGMENTS = 50_000
# Two selections that overlap by less are of different objects.
SAME_OBJECT = 0.5
# Worth of a selection that is not connected to the image border, in self-consistency.
APART_WEIGHT = 0.3
# How much better than the first the second vote has to be, in self-consistency.
MARGIN = 0.05

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
    contradicted: bool = False  # whether this is a second opinion that contradicts the first
    cause: str = ""  # the weakest sign or the cap, a key of `REASONS`; "" where the confidence is high

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
        """Value by which looks at different sizes are compared: separability * contrast * power.

        Their features differ, but these three have the same units: the segments and their outlines are the same, and
        power is a rank statistic of the same folders. Agreement depends on how far the hypotheses matter at a size.
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
        """For `run.json`; empty for another voter than the method."""
        if np.isnan(self.value):
            return {}
        figures = {name: round(value, 4) for name, value in asdict(self).items() if isinstance(value, float)}
        words = {"cause": self.cause, "reason": self.reason, "advice": self.advice}
        return {"level": self.level, **figures, "contradicted": self.contradicted, **words}


def vote_and_judge(
    table: SegmentTable, graph: sparse.csr_matrix, params: VoteParams = VoteParams()
) -> tuple[Vote, Confidence]:
    """Hold the vote, judge it, and hold a second one where the first is not sure; parameters as for `vote`.

    Neighbours are near each other by all their features, and with few images most of that is scene: dogs on lawns
    against cats indoors end in the lawn. The second vote walks over neighbours in features stretched along the
    direction that separates *with* from *without* segments. That direction has seen the folder labels, so the second
    vote is judged on the neighbours as they were, and replaces the first only where it contradicts it and is better.
    """
    first = vote(table, graph, params)
    test = run_permutation_test(first)
    confidence = measure_confidence(first, test)
    # Where *with* images may be without the object, the labels of the folders separate too little.
    if confidence.value >= UNSURE or params.allow_empty or len(table) > MOST_SEGMENTS:
        return first, confidence
    stretched = search_stretched_graph(table, params.n_neighbors)
    second = vote(table, graph, params, connectivity=first.connectivity, walk_graph=stretched)
    if not is_overruled(first, second):
        return first, confidence
    return second, measure_confidence(second, test, contradicted=True)


def is_overruled(first: Vote, second: Vote) -> bool:
    """Whether another vote on the same segments selects another object, and is clearly better."""
    overlap = measure_overlap(first.table.areas, first.selected, second.selected)
    return overlap < SAME_OBJECT and judge_vote(second) > judge_vote(first) + MARGIN


def judge_vote(found: Vote) -> float:
    """Judgement of the best selection of the hypotheses, on the neighbours as they are.

    Self-consistency times the root of the walks' mutual overlap, plus the worth of the contrast of the outlines, and of
    the part of the selection that is not connected to the image border.
    """
    assert found.agreement is not None
    table, selections = found.table, found.agreement.selections
    areas, judged = table.areas * table.is_candidate, []
    for index, (selected, consistency) in enumerate(zip(selections, found.agreement.consistencies, strict=True)):
        others = np.delete(selections, index, axis=0)
        mutual = float(np.mean([measure_overlap(areas, selected, other) for other in others])) if len(others) else 1.0
        apart = 1 - float(np.average(found.connectivity[selected], weights=areas[selected]))
        worth = value_contrast(table, selected, found.params) + APART_WEIGHT * apart
        judged.append(consistency * mutual**0.5 + worth)
    return max(judged)


def measure_confidence(found: Vote, test: PermutationTest | None = None, contradicted: bool = False) -> Confidence:
    """Confidence in a vote without user labels; the permutation test of the same folders may be known already.

    A second opinion that contradicts the first is not called high.
    """
    if found.agreement is None:
        return Confidence(np.nan)
    table, selected = found.table, found.selected
    test = run_permutation_test(found) if test is None else test
    held_out = table.smooth(score_held_out(found), found.params.smoothing)
    overlaps = [measure_overlap(table.areas, one, selected) for one in found.agreement.selections]
    signs = {
        "separability": float(np.mean(measure_separability(table, found.scores))),
        "agreement": float(np.mean(overlaps)),
        "contrast": measure_contrast_sign(table, selected),
        # Images excluded as likely mislabelled count too: leaving them out would flatter folders that differ by chance.
        "power": measure_power(table.measure_top(held_out, EVIDENCE_SHARE), table.positive),
        "shared": _measure_shared(found),
    }
    # Segments of the mean size that the selection covers in each image.
    sizes = table.sum_by_image(table.shares * selected) * np.diff(table.offsets)
    size, place = float(np.median(sizes[table.positive])), measure_place(table, selected)
    caps = _list_caps(table.bag_labels, test, place, contradicted)
    value = min(float(np.prod(list(signs.values()))), *caps.values())
    cause = "" if value >= HIGH else _find_cause(value, signs, size, caps)
    tested = {"p_value": test.p_value, "consistency": test.observed, "shuffled": test.mean}
    return Confidence(value, **signs, **tested, place=place, size=size, contradicted=contradicted, cause=cause)


def _list_caps(bag_labels: np.ndarray, test: PermutationTest, place: float, contradicted: bool) -> dict[str, float]:
    """Cause to the highest value that it allows."""
    low, fair = LOW - 1e-4, HIGH - 1e-4
    n_bags = min(bag_labels.sum(), (~bag_labels).sum())
    by_chance = test.p_value > P_VALUE_FOR_HIGH or test.gain < GAIN_FOR_HIGH
    return {
        "few": low if n_bags < FEW_FOR_FAIR else fair if n_bags < FEW_FOR_HIGH else 1.0,
        "chance": low if test.p_value > P_VALUE_FOR_FAIR else fair if by_chance else 1.0,
        "place": low if place > SAME_PLACE else 1.0,
        "scene": fair if contradicted else 1.0,
    }


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


# Permutation test -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PermutationTest:
    """Highest self-consistency over the hypotheses, with the folder labels as they are and with shuffled ones.

    Walks of a few rounds and one re-vote are held for all labellings alike, as the columns of one matrix.
    """

    observed: float
    shuffled: np.ndarray  # (n_shuffles,)

    @property
    def p_value(self) -> float:
        """Share of labellings, the real one among them, that are as consistent as the real one."""
        return float((1 + (self.shuffled >= self.observed).sum()) / (1 + len(self.shuffled)))

    @property
    def mean(self) -> float:
        """Mean self-consistency of shuffled labels."""
        return float(self.shuffled.mean())

    @property
    def gain(self) -> float:
        """(observed - mean) / (1 - mean): self-consistency corrected for chance, at least 0, as Cohen's kappa is."""
        return max(0.0, (self.observed - self.mean) / max(1 - self.mean, 1e-9))


def run_permutation_test(found: Vote, n_shuffles: int = N_SHUFFLES) -> PermutationTest:
    """Hold the vote with shuffled folder labels on the same graph; images of one bag keep the same label."""
    labels = shuffle_labels(found.table, n_shuffles)
    scores = np.max([_measure_labellings(found, labels, one) for one in found.params.hypotheses], axis=0)
    return PermutationTest(float(scores[0]), scores[1:])


def shuffle_labels(table: SegmentTable, n_shuffles: int) -> np.ndarray:
    """(n_images, 1 + n_shuffles) bool: the labels as they are, and shuffled over bags."""
    rng, labels = np.random.default_rng(SEED), table.bag_labels
    return np.stack([labels, *(rng.permutation(labels) for _ in range(n_shuffles))], axis=1)[table.image_bags]


def _measure_labellings(found: Vote, labels: np.ndarray, hypothesis: Hypothesis) -> np.ndarray:
    """(n_labellings,) self-consistency of the selections of one hypothesis, by labels (n_images, n_labellings)."""
    table, part = found.table, found.params.smoothing
    tables = [replace(table, positive=column) for column in labels.T]
    votes = walk_all(found.graph, table, labels, found.measure_prior(hypothesis), hypothesis.balance)
    columns = zip(tables, table.smooth(votes, part).T, strict=True)
    first = np.stack([select_separable(one, column, SHUFFLED_POWERS) for one, column in columns], axis=1)
    shares = table.smooth(found.graph @ first.astype(np.float64), part)
    second = np.stack([select(one, column)[0] for one, column in zip(tables, shares.T, strict=True)], axis=1)
    rows = zip(tables, second.T, (found.graph @ second.astype(np.float64)).T, strict=True)
    return np.array([measure_consistency(*row) for row in rows])


def walk_all(
    graph: sparse.csr_matrix, table: SegmentTable, labels: np.ndarray, prior: np.ndarray, balance: float
) -> np.ndarray:
    """(n_segments, n_labellings) votes of a short walk for each labelling (n_images, n_labellings).

    In single precision, all walks at once: the graph, which is the largest array, is read once for all of them.
    """
    votes, factors = graph.astype(np.float32), prior.astype(np.float32)[:, None]
    inside = labels[table.images]
    pool = sparse.csr_matrix(
        (table.shares.astype(np.float32), (table.images, np.arange(len(table)))), shape=(table.n_images, len(table))
    )
    weights, tiny = inside.astype(np.float32), np.finfo(np.float32).tiny
    for _ in range(N_SHUFFLED_STEPS):
        weights = factors * (votes @ weights) * inside
        if balance:
            weights /= np.maximum(pool @ weights, tiny)[table.images] ** np.float32(balance)
        weights /= np.maximum(weights.max(axis=0), tiny)
    return (factors * (votes @ weights)).astype(np.float64)
