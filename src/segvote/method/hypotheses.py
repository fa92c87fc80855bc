"""The first half of a vote: walks under each hypothesis about the background, weighted by their self-consistency.

Each walk ends in a selection. Its judgement is the self-consistency of the selection, with the worth of the contrast of
its outlines; the hypotheses are weighted by the exponential of their judgements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from segvote.method.decide import measure_consistency, measure_outline_contrast, select, select_separable
from segvote.method.graph import N_NEIGHBORS, exclude_voters
from segvote.method.table import SegmentTable, apply_labels, make_folds
from segvote.method.walk import measure_border_prior, walk, walk_from_labels


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
    decision: str = "otsu"  # a name of `segvote.method.decide.DECISIONS`
    exclude_mislabelled: bool = True  # whether images that are likely in the wrong folder are excluded
    # Whether *with* images keep no segment where their best evidence does not exceed that of *without* images, at a
    # p-value of 0.05; otherwise each keeps at least its best.
    allow_empty: bool = False
    # No single hypothesis is right for every folder: dogs on lawns need the prior against the border and balanced
    # images, faces that fill the image and rare defects are hurt by them.
    hypotheses: tuple[Hypothesis, ...] = (Hypothesis(0.0, 0.0), Hypothesis(0.25, 0.3))
    # Exponents that are tried on the votes of a walk, which span orders of magnitude for objects that vary.
    powers: tuple[float, ...] = (2.0, 1.4, 1.0, 0.7, 0.5, 0.35, 0.25)
    temperature: float = 0.02  # difference of judgement that makes one hypothesis e times as heavy as another
    contrast_weight: float = 0.2  # worth of an outline with e times the contrast, in self-consistency
    # Contrast of an outline, in units of that of all boundaries, beyond which more is worth nothing: twice the mean
    # follows edges, and a nucleus in its cell is no better an object for being darker.
    full_contrast: float = 2.0
    n_folds: int = 5  # folds of images for scores of images left out of the vote
    n_held_out_steps: int = 20  # rounds of a walk without a fold: enough to rank segments


@dataclass(frozen=True, kw_only=True)
class VoteInputs:
    """Segments, their votes for each other, and which of them vote."""

    table: SegmentTable
    params: VoteParams
    graph: sparse.csr_matrix  # (n_segments, n_segments) votes of the nearest segments of other images; rows sum to one
    connectivity: np.ndarray  # (n_segments,) connection to the image border, in [0, 1]
    user_labels: np.ndarray  # (n_segments,) int8: -1 unknown, 0 background, 1 object
    excluded: np.ndarray  # (n_images,) bool: images that do not vote
    walk_graph: sparse.csr_matrix | None = None  # other votes to walk over, of a second opinion

    @cached_property
    def silent(self) -> np.ndarray:
        """(n_segments,) bool: segments of excluded images, which do not vote unless they have a user label."""
        return self.excluded[self.table.images] & (self.user_labels < 0)

    @cached_property
    def counted_graph(self) -> sparse.csr_matrix:
        """The graph with the votes of excluded images left out."""
        return exclude_voters(self.graph, self.silent)

    @cached_property
    def voters(self) -> np.ndarray:
        """Numbers of the segments that vote for the object."""
        candidates = self.table.is_candidate & ~self.silent & (self.user_labels != 0)
        return np.flatnonzero(candidates | (self.user_labels == 1))

    def exclude(self, images: np.ndarray) -> VoteInputs:
        """The inputs without the votes of some images (n_images,) bool."""
        inputs = replace(self, excluded=images)
        if self.walk_graph is not None:
            inputs = replace(inputs, walk_graph=exclude_voters(self.walk_graph, inputs.silent))
        return inputs

    def measure_prior(self, hypothesis: Hypothesis) -> np.ndarray:
        """(n_segments,) background prior under a hypothesis."""
        border = self.table.prior * measure_border_prior(self.table.border, self.params.border_prior)
        return border * (1 - hypothesis.connectivity * self.connectivity)


@dataclass(frozen=True)
class Agreement:
    """The selections of the hypotheses, and how much each counts."""

    weights: np.ndarray  # (n_hypotheses,) exp(judgement / temperature), which sum to one
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
    def score(self) -> float:
        """Self-consistency, weighted like the selections."""
        return float(self.weights @ self.consistencies)


def weigh_hypotheses(inputs: VoteInputs) -> Agreement:
    """Walk under each hypothesis, and weigh the selections."""
    tried = [_try(inputs, hypothesis) for hypothesis in inputs.params.hypotheses]
    judgements, selections, consistencies = (np.array(one) for one in zip(*tried, strict=True))
    weights = np.exp((judgements - judgements.max()) / inputs.params.temperature)
    return Agreement(weights / weights.sum(), selections, consistencies)


def _try(inputs: VoteInputs, hypothesis: Hypothesis) -> tuple[float, np.ndarray, float]:
    """Judgement, selection and self-consistency of one hypothesis."""
    table, params = inputs.table, inputs.params
    graph = inputs.counted_graph if inputs.walk_graph is None else inputs.walk_graph
    votes = walk(table, graph, inputs.measure_prior(hypothesis), inputs.voters, hypothesis.balance, params.n_steps)
    free = select_separable(table, table.smooth(votes, params.smoothing), params.powers)
    selected = apply_labels(free, inputs.user_labels)
    consistency = measure_consistency(table, selected, inputs.counted_graph @ selected.astype(np.float64))
    worth = value_contrast(table, selected, params)
    return consistency + worth + _measure_recall(free, inputs.user_labels), selected, consistency


def value_contrast(table: SegmentTable, selected: np.ndarray, params: VoteParams) -> float:
    """Worth of the outline of a selection (n_segments,), in self-consistency."""
    contrast = np.clip(measure_outline_contrast(table, selected), 0.1, params.full_contrast)
    return params.contrast_weight * float(np.log(contrast))


def _measure_recall(selected: np.ndarray, user_labels: np.ndarray) -> float:
    """Part of the user labels that a selection found without them; 0 where there are none."""
    known = user_labels >= 0
    return float((selected[known] == (user_labels[known] == 1)).mean()) if known.any() else 0.0


def revote(inputs: VoteInputs, labels: np.ndarray) -> np.ndarray:
    """Selected segments (n_segments,) after one more round, in which labels (n_segments,) in [0, 1] vote."""
    share = inputs.table.smooth(inputs.counted_graph @ labels.astype(np.float64), inputs.params.smoothing)
    return apply_labels(select(inputs.table, share)[0], inputs.user_labels)


def select_seeded(inputs: VoteInputs) -> np.ndarray:
    """(n_segments,) bool: the object by a walk that starts from user labels.

    For a run that failed: nothing is assumed about the background, so that nothing of the failed vote is left.
    """
    table, params = inputs.table, inputs.params
    votes = walk_from_labels(inputs.counted_graph, table.is_candidate, inputs.user_labels, params.n_steps)
    selected = select_separable(table, table.smooth(votes, params.smoothing), params.powers)
    return apply_labels(selected, inputs.user_labels)


def leave_out_folds(
    inputs: VoteInputs, best: int, folds: np.ndarray | None = None
) -> Iterator[tuple[np.ndarray, sparse.csr_matrix, np.ndarray]]:
    """For each fold of images: its segments, the votes of all others, and the segments that those alone select.

    A short walk under the hypothesis `best` selects them: even how many segments of an image the whole vote selected
    depends on the images that are left out. `folds` (n_images,) are the numbers of the folds, if given.
    """
    table, params, hypothesis = inputs.table, inputs.params, inputs.params.hypotheses[best]
    folds = make_folds(table, params.n_folds) if folds is None else folds
    prior = inputs.measure_prior(hypothesis)
    for fold in np.unique(folds):
        out = (folds == fold)[table.images]
        graph, voters = exclude_voters(inputs.graph, out | inputs.silent), inputs.voters[~out[inputs.voters]]
        others, selected = replace(table, positive=table.positive & (folds != fold)), np.zeros(len(table), dtype=bool)
        if others.positive.any():
            votes = walk(table, graph, prior, voters, hypothesis.balance, params.n_held_out_steps)
            selected = select_separable(others, table.smooth(votes, params.smoothing), params.powers)
        yield out, graph, selected


def share_held_out(inputs: VoteInputs, best: int) -> np.ndarray:
    """(n_segments,) smoothed share of selected neighbours, by walks that the segment's image had no part in."""
    shares = np.empty(len(inputs.table))
    for out, graph, selected in leave_out_folds(inputs, best):
        shares[out] = graph[out] @ selected.astype(np.float64)
    return inputs.table.smooth(shares, inputs.params.smoothing)
