"""The first half of a vote: walks under each hypothesis about the background, weighted by their self-consistency.

Each walk ends in a selection, which is scored by its self-consistency plus a bonus for the contrast of its outlines.
The hypotheses are weighted by the exponential of their scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy import sparse

from segvote.method.consistency import measure_consistency, measure_outline_contrast
from segvote.method.graph import N_NEIGHBORS, exclude_voters
from segvote.method.prior import measure_border_prior
from segvote.method.table import SegmentTable
from segvote.method.threshold import select_separable
from segvote.method.walk import scale_votes, walk
from segvote.numerics.threads import map_in_threads


@dataclass(frozen=True)
class Hypothesis:
    """Assumptions of one walk."""

    balance: float  # exponent by which the weights of images are balanced
    connectivity: float  # strength of the prior against segments connected to the image border


@dataclass(frozen=True)
class VoteParams:
    """Parameters of a vote. Constants of a single formula stand beside it."""

    n_neighbors: int = N_NEIGHBORS  # segments of other images that vote for each segment
    n_steps: int = 60  # rounds of a walk
    border_prior: float = 0.9  # background prior of segments on the image border, in (0, 1]; 1 switches it off
    smoothing: float = 0.4  # part of a score that comes from adjacent segments that look alike, in [0, 1]
    decision: str = "otsu"  # a name of `segvote.method.threshold.DECISIONS`
    exclude_mislabelled: bool = True  # whether images that are likely in the wrong folder are excluded
    # Whether *with* images keep no segment where their best evidence does not exceed that of *without* images, at a
    # p-value of 0.05; otherwise each keeps at least its best.
    allow_empty: bool = False
    # No single hypothesis is right for every folder: dogs on lawns need the prior against the border and balanced
    # images, faces that fill the image and rare defects are hurt by them.
    hypotheses: tuple[Hypothesis, ...] = (Hypothesis(0.0, 0.0), Hypothesis(0.25, 0.3))
    # Exponents that are tried on the votes of a walk, which span orders of magnitude for objects that vary.
    powers: tuple[float, ...] = (2.0, 1.4, 1.0, 0.7, 0.5, 0.35, 0.25)
    temperature: float = 0.02  # difference of scores that makes one hypothesis e times as heavy as another
    contrast_weight: float = 0.2  # bonus of an outline with e times the contrast, in self-consistency
    # Contrast is clipped here, in units of that of all boundaries: an outline at twice the mean contrast already
    # follows edges, and a nucleus in its cell is no better an object for being darker.
    full_contrast: float = 2.0
    n_folds: int = 5  # folds of images for scores of images left out of the vote
    n_held_out_steps: int = 20  # rounds of a walk without a fold: enough to rank segments


@dataclass(frozen=True)
class VoteInputs:
    """What a vote is held on, the same for each repetition with other user labels; see `make_inputs`."""

    table: SegmentTable
    graph: sparse.csr_matrix  # (n_segments, n_segments) votes of the nearest segments of other bags; rows sum to one
    walk_graph: sparse.csr_matrix  # votes that are walked over: `graph`, except in a second vote
    params: VoteParams
    connectivity: np.ndarray  # (n_segments,) connection to the image border, in [0, 1]
    image_logits: np.ndarray | None  # (n_images,) of `classify_held_out`; None for too few

    @property
    def is_second(self) -> bool:
        """Whether the walk is over another graph than the vote."""
        return self.walk_graph is not self.graph

    def measure_prior(self, hypothesis: Hypothesis) -> np.ndarray:
        """(n_segments,) background prior under a hypothesis."""
        border = self.table.prior * measure_border_prior(self.table.border, self.params.border_prior)
        return border * (1 - hypothesis.connectivity * self.connectivity)


@dataclass(frozen=True)
class Electorate:
    """The inputs of a vote, and which of the segments vote."""

    inputs: VoteInputs
    user_labels: np.ndarray  # (n_segments,) int8: -1 unknown, 0 background, 1 object
    excluded_images: np.ndarray  # (n_images,) bool: images that do not vote

    @cached_property
    def excluded(self) -> np.ndarray:
        """(n_segments,) bool: segments of excluded images, which do not vote unless they have a user label."""
        return self.excluded_images[self.inputs.table.images] & (self.user_labels < 0)

    @cached_property
    def voters(self) -> np.ndarray:
        """(n_segments,) bool: segments that vote for the object."""
        candidates = self.inputs.table.is_candidate & ~self.excluded & (self.user_labels != 0)
        return candidates | (self.user_labels == 1)

    @cached_property
    def graph(self) -> sparse.csr_matrix:
        """The graph without excluded voters."""
        return exclude_voters(self.inputs.graph, self.excluded)

    @cached_property
    def walk_graph(self) -> sparse.csr_matrix:
        """The graph that is walked over, without excluded voters."""
        return exclude_voters(self.inputs.walk_graph, self.excluded) if self.inputs.is_second else self.graph


@dataclass(frozen=True)
class WeightedHypotheses:
    """The selections of the hypotheses, and how much each counts."""

    weights: np.ndarray  # (n_hypotheses,) exp(score / temperature), which sum to one
    selections: np.ndarray  # (n_hypotheses, n_segments) bool
    consistencies: np.ndarray  # (n_hypotheses,) self-consistency of each selection

    @property
    def best(self) -> int:
        """Number of the hypothesis that counts most."""
        return int(np.argmax(self.weights))

    @property
    def labels(self) -> np.ndarray:
        """(n_segments,) weighted mean of the selections, in [0, 1]."""
        return self.weights @ self.selections.astype(float)

    @property
    def consistency(self) -> float:
        """Self-consistency, weighted like the selections."""
        return float(self.weights @ self.consistencies)


def weigh_hypotheses(electorate: Electorate) -> WeightedHypotheses:
    """Walk under each hypothesis, and weigh the selections."""
    params = electorate.inputs.params
    tried = map_in_threads(partial(_try, electorate), params.hypotheses, electorate.inputs.graph.nnz)
    scores, selections, consistencies = (np.array(values) for values in zip(*tried, strict=True))
    weights = np.exp((scores - scores.max()) / params.temperature)
    return WeightedHypotheses(weights / weights.sum(), selections, consistencies)


def _try(electorate: Electorate, hypothesis: Hypothesis) -> tuple[float, np.ndarray, float]:
    """Score, selection and self-consistency of one hypothesis."""
    table, params = electorate.inputs.table, electorate.inputs.params
    prior, voters = electorate.inputs.measure_prior(hypothesis), electorate.voters
    votes = walk(table, electorate.walk_graph, prior, voters, hypothesis.balance, params.n_steps)
    selected = select_walked(table, scale_votes(votes, voters), params)
    consistency = measure_consistency(table, selected, electorate.graph @ selected.astype(np.float64))
    return consistency + value_contrast(table, selected, params), selected, consistency


def select_walked(table: SegmentTable, votes: np.ndarray, params: VoteParams) -> np.ndarray:
    """Selected segments (n_segments,) by the votes (n_segments,) of a walk, smoothed."""
    return select_separable(table, table.smooth(votes, params.smoothing), params.powers)


def value_contrast(table: SegmentTable, selected: np.ndarray, params: VoteParams) -> float:
    """Bonus for the outline of a selection (n_segments,), in self-consistency."""
    contrast = np.clip(measure_outline_contrast(table, selected), 0.1, params.full_contrast)
    return params.contrast_weight * float(np.log(contrast))
