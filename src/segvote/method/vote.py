"""The vote: a table of segments and their neighbour graph in, scores and a selection out. Pure functions of arrays.

1. Walks over the votes of other images find what the *with* images share and the *without* images lack, under two
   hypotheses about the background; each counts by the self-consistency of its selection.
2. Images that are likely in the wrong folder are excluded, and the vote is held again.
3. The selection votes once more, beside a linear classifier of selected against not selected: the share of neighbours
   decides where objects repeat, the classifier where they vary.
4. Adjacent segments that look alike share their scores, and Otsu's threshold of each image decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.special import expit

from segvote.kernels import otsu_threshold
from segvote.kernels.otsu import split_each
from segvote.method.decide import (
    Consistency,
    measure_consistency,
    measure_outline_contrast,
    measure_overlap,
    select,
    select_above,
    select_separable,
)
from segvote.method.graph import N_NEIGHBORS, exclude_voters
from segvote.method.held_out import find_unsupported, label_others, leave_out_folds, score_held_out
from segvote.method.linear import LinearPosterior, fit_posterior
from segvote.method.mislabelled import choose_excluded, measure_suspicion
from segvote.method.table import SegmentTable, apply_labels, check_user_labels
from segvote.method.walk import ImageBalance, measure_border_prior, measure_connectivity, walk, walk_from_labels

if TYPE_CHECKING:
    from segvote.method.corrections import ResidualVotes

# Otsu explains three quarters of the variance of almost any scores, and all but a twentieth of those of clear ones.
NO_SEPARABILITY, FULL_SEPARABILITY = 0.75, 0.95


@dataclass(frozen=True)
class Hypothesis:
    """Assumptions of one walk.

    Attributes
    ----------
    balance : float
        Exponent by which the weights of images are balanced, see `ImageBalance`.
    connectivity : float
        Strength of the prior against segments connected to the image border.
    """

    balance: float
    connectivity: float


@dataclass(frozen=True)
class VoteParams:
    """Every constant of the vote.

    Attributes
    ----------
    n_neighbors : int
        Segments of other images that vote for each segment.
    n_steps : int
        Rounds of a walk.
    border_prior : float
        Background prior of segments on the image border, in (0, 1]; 1 switches it off.
    smoothing : float
        Part of a score that comes from adjacent segments that look alike, in [0, 1].
    decision : str
        A name of `segvote.method.decide.DECISIONS`.
    exclude_mislabelled : bool
        Whether images that are likely in the wrong folder are excluded from the vote.
    hypotheses : tuple of Hypothesis
        No single one is right for every folder: dogs on lawns need the prior against the border and balanced images,
        faces that fill the image and rare defects are hurt by them.
    powers : tuple of float
        Exponents that are tried on the votes of a walk, which span orders of magnitude for objects that vary.
    temperature : float
        Difference of judgement that makes one hypothesis e times as heavy as another.
    contrast_weight : float
        Worth of an outline with e times the contrast, in self-consistency.
    full_contrast : float
        Contrast of an outline, in units of that of all boundaries, beyond which more is worth nothing: twice the mean
        follows edges, and a nucleus in its cell is no better an object for being darker.
    allow_empty : bool
        Whether *with* images keep no segment where their best evidence does not exceed that of *without* images, at a
        p-value of 0.05; otherwise each keeps at least its best.
    n_folds : int
        Folds of images for scores of images left out of the vote.
    n_held_out_steps : int
        Rounds of a walk without a fold: enough to rank segments.
    """

    n_neighbors: int = N_NEIGHBORS
    n_steps: int = 60
    border_prior: float = 0.9
    smoothing: float = 0.4
    decision: str = "otsu"
    exclude_mislabelled: bool = True
    allow_empty: bool = False
    hypotheses: tuple[Hypothesis, ...] = (Hypothesis(0.0, 0.0), Hypothesis(0.25, 0.3))
    powers: tuple[float, ...] = (2.0, 1.4, 1.0, 0.7, 0.5, 0.35, 0.25)
    temperature: float = 0.02
    contrast_weight: float = 0.2
    full_contrast: float = 2.0
    n_folds: int = 5
    n_held_out_steps: int = 20

    def measure_prior(self, table: SegmentTable, connectivity: np.ndarray, hypothesis: Hypothesis) -> np.ndarray:
        """(n_segments,) background prior under a hypothesis, by the segments' connectivity (n_segments,)."""
        border = table.prior * measure_border_prior(table.border, self.border_prior)
        return border * (1 - hypothesis.connectivity * connectivity)


@dataclass(frozen=True)
class Agreement:
    """What the hypotheses came to.

    Attributes
    ----------
    judgements : (n_hypotheses,)
        Self-consistency of each, with the worth of its outlines' contrast.
    weights : (n_hypotheses,)
        exp(judgement / temperature), made to sum to one.
    labels : (n_segments,)
        Weighted mean of the selections, in [0, 1].
    selections : (n_hypotheses, n_segments) bool
        Of each.
    consistencies : tuple of Consistency
        Of each.
    """

    judgements: np.ndarray
    weights: np.ndarray
    labels: np.ndarray
    selections: np.ndarray
    consistencies: tuple[Consistency, ...]

    @property
    def best(self) -> int:
        """Number of the hypothesis that counts most."""
        return int(np.argmax(self.weights))

    @property
    def score(self) -> float:
        """Self-consistency, weighted like the selections."""
        return float(self.weights @ [consistency.score for consistency in self.consistencies])


@dataclass(frozen=True)
class Vote:
    """The result of a vote, and all it was held on.

    Attributes
    ----------
    table, params
        What was voted on, and how.
    graph : (n_segments, n_segments) sparse
        Votes of the k nearest segments of other images; rows sum to one.
    connectivity : (n_segments,)
        How far each segment is connected to the image border, in [0, 1].
    user_labels : (n_segments,) int8
        -1 unknown, 0 background, 1 object.
    agreement : Agreement or None
        Of the hypotheses; None for the scores of another voter.
    excluded, suspicion : (n_images,)
        Images that did not vote; how much each is like the other folder, in [0, 1].
    labels : (n_segments,) bool
        The selection by which neighbours are counted.
    inside : float
        Its self-consistency: weight of the neighbours' share in the evidence, beside the linear posterior.
    posterior : LinearPosterior
        Probability of object by a linear classifier.
    threshold : float
        Evidence at which scores are zero: Otsu's of all images together.
    votes, scores : (n_segments,)
        Evidence less the threshold; smoothed, and with corrections.
    thresholds : (n_images,)
        Score above which the segments of an image are object; 0 for *without* images.
    selected : (n_segments,) bool
        The object; never in a *without* image unless a user label says so.
    uncertainty : (n_images,)
        0 certain to 1; from 0.5 on the mask should be looked at. 0 for *without* images.
    empty : (n_images,) bool
        *With* images without a supported segment; none unless `VoteParams.allow_empty`.
    walk_graph : sparse, optional
        Other votes that the walks were made over.
    residuals : ResidualVotes, optional
        What corrections added to the scores.
    kept : (n_images,) bool, optional
        Images that corrections left as they were.
    """

    table: SegmentTable
    params: VoteParams
    graph: sparse.csr_matrix
    connectivity: np.ndarray
    user_labels: np.ndarray
    agreement: Agreement | None
    excluded: np.ndarray
    suspicion: np.ndarray
    labels: np.ndarray
    inside: float
    posterior: LinearPosterior
    threshold: float
    votes: np.ndarray
    scores: np.ndarray
    thresholds: np.ndarray
    selected: np.ndarray
    uncertainty: np.ndarray
    empty: np.ndarray
    walk_graph: sparse.csr_matrix | None = None
    residuals: ResidualVotes | None = None
    kept: np.ndarray | None = None

    @cached_property
    def silent(self) -> np.ndarray:
        """(n_segments,) bool: segments of excluded images, which do not vote unless they have a user label."""
        return self.excluded[self.table.images] & (self.user_labels < 0)

    @cached_property
    def counted_graph(self) -> sparse.csr_matrix:
        """The graph with the votes of excluded images left out."""
        return exclude_voters(self.graph, self.silent)

    @property
    def weights(self) -> np.ndarray:
        """(n_segments,) soft labels in [0, 1]; 0 in *without* images; user labels hold."""
        soft = np.where(self.table.is_candidate, self.soften(self.scores), 0.0)
        return np.where(self.user_labels >= 0, self.user_labels, soft)

    def soften(self, scores: np.ndarray) -> np.ndarray:
        """Scores (n,) as soft labels A / (A + B) of eq. 17, in which the threshold stands for the votes against.

        The scores of another voter have no such scale: a logistic curve of their standard deviation stands for it.
        """
        if self.agreement is None:
            return expit(scores / (float(self.scores.std()) or 1.0))
        votes = np.clip(scores + self.threshold, 0.0, None)
        return votes / np.maximum(votes + self.threshold, np.finfo(float).tiny)


def vote(
    table: SegmentTable,
    graph: sparse.csr_matrix,
    params: VoteParams = VoteParams(),
    user_labels: np.ndarray | None = None,
    *,
    connectivity: np.ndarray | None = None,
    walk_graph: sparse.csr_matrix | None = None,
    seeded: bool = False,
    threshold: float | None = None,
) -> Vote:
    """Hold the vote.

    Parameters
    ----------
    table : SegmentTable
        The segments.
    graph : (n_segments, n_segments) sparse
        Of `search_graph`.
    params : VoteParams
        All constants.
    user_labels : (n_segments,), optional
        -1 unknown, 0 background, 1 object. Labelled segments vote with their label.
    connectivity : (n_segments,), optional
        Of `measure_connectivity`, if it is known.
    walk_graph : sparse, optional
        Other votes to walk over; the outcome is judged on those of `graph`.
    seeded : bool
        Whether the walk starts from the user labels instead of all *with* segments.
    threshold : float, optional
        Evidence at which scores are zero; default: Otsu's threshold of all segments.
    """
    labels = check_user_labels(user_labels, len(table))
    connectivity = measure_connectivity(table) if connectivity is None else connectivity
    round_ = _Round(table, graph, params, labels, connectivity, walk_graph)
    agreement = round_.weigh()
    suspicion = measure_suspicion(table, round_.share_held_out(agreement))
    excluded = np.zeros(table.n_images, dtype=bool)
    chosen = choose_excluded(suspicion, table.positive) if params.exclude_mislabelled else excluded
    if chosen.any():
        smaller = round_.exclude(chosen)
        other = smaller.weigh()
        # A vote that agrees less with itself without those excluded has lost good voters.
        if other.score > agreement.score:
            round_, agreement, excluded = smaller, other, chosen
    start = round_.select_seeded() if seeded else agreement.labels
    found = _learn(graph, round_, agreement, excluded, suspicion, round_.revote(start))
    return decide_vote(found, threshold)


@dataclass(frozen=True)
class _Round:
    """What one round of votes is held on; segments of excluded images are annotated but do not vote."""

    table: SegmentTable
    graph: sparse.csr_matrix
    params: VoteParams
    user_labels: np.ndarray
    connectivity: np.ndarray
    walk_graph: sparse.csr_matrix | None = None
    silent: np.ndarray | None = None  # (n_segments,) bool

    def exclude(self, images: np.ndarray) -> _Round:
        """The round without the votes of some images (n_images,) bool; segments with a user label still vote."""
        silent = images[self.table.images] & (self.user_labels < 0)
        walked = None if self.walk_graph is None else exclude_voters(self.walk_graph, silent)
        return replace(self, graph=exclude_voters(self.graph, silent), walk_graph=walked, silent=silent)

    @property
    def voters(self) -> np.ndarray:
        """Numbers of the segments that may be object and vote."""
        candidates = self.table.is_candidate & (self.user_labels != 0)
        if self.silent is not None:
            candidates &= ~self.silent
        return np.flatnonzero(candidates | (self.user_labels == 1))

    def revote(self, labels: np.ndarray) -> np.ndarray:
        """Selected segments after one more round, in which labels (n_segments,) in [0, 1] vote."""
        share = self.table.smooth(self.graph @ labels.astype(np.float64), self.params.smoothing)
        return apply_labels(select(self.table, share)[0], self.user_labels)

    def weigh(self) -> Agreement:
        """Walk under each hypothesis, and weigh the selections."""
        tried = [self._try(hypothesis) for hypothesis in self.params.hypotheses]
        judgements, selections, consistencies = zip(*tried, strict=True)
        weights = np.exp((np.array(judgements) - max(judgements)) / self.params.temperature)
        weights /= weights.sum()
        labels = weights @ np.array(selections, dtype=float)
        return Agreement(np.array(judgements), weights, labels, np.array(selections), consistencies)

    def _try(self, hypothesis: Hypothesis) -> tuple[float, np.ndarray, Consistency]:
        """Judgement, selection and consistency of one hypothesis."""
        table, graph = self.table, self.graph if self.walk_graph is None else self.walk_graph
        prior = self.params.measure_prior(table, self.connectivity, hypothesis)
        free = select_separable(table, self._walk(graph, prior, hypothesis.balance), self.params.powers)
        selected = apply_labels(free, self.user_labels)
        found = measure_consistency(table, selected, self.graph @ selected.astype(np.float64))
        contrast = value_contrast(table, selected, self.params)
        return found.score + contrast + _measure_recall(free, self.user_labels), selected, found

    def _walk(self, graph: sparse.csr_matrix, prior: np.ndarray, balance: float) -> np.ndarray:
        voters, table = self.voters, self.table
        balanced = ImageBalance(table.images[voters], table.shares[voters], balance)
        return table.smooth(walk(graph, prior, voters, balanced, self.params.n_steps), self.params.smoothing)

    def share_held_out(self, agreement: Agreement) -> np.ndarray:
        """(n_segments,) smoothed share of selected neighbours, by walks that the segment's image had no part in."""
        table, hypothesis = self.table, self.params.hypotheses[agreement.best]
        prior = self.params.measure_prior(table, self.connectivity, hypothesis)
        voters, shares = self.voters, np.empty(len(table))
        for out in leave_out_folds(table, self.params.n_folds):
            graph = exclude_voters(self.graph, out)
            labels = label_others(graph, table, prior, voters[~out[voters]], hypothesis.balance, out, self.params)
            shares[out] = graph[out] @ labels.astype(np.float64)
        return table.smooth(shares, self.params.smoothing)

    def select_seeded(self) -> np.ndarray:
        """(n_segments,) bool: the object by a walk that starts from user labels.

        Where a run failed, a handful of labels tells what the object is; nothing is assumed about the background, so
        that nothing of the failed vote is left.
        """
        votes = walk_from_labels(self.graph, self.table.is_candidate, self.user_labels, self.params.n_steps)
        smoothed = self.table.smooth(votes, self.params.smoothing)
        return apply_labels(select_separable(self.table, smoothed, self.params.powers), self.user_labels)


def value_contrast(table: SegmentTable, selected: np.ndarray, params: VoteParams) -> float:
    """Worth of the outline of a selection (n_segments,), in self-consistency."""
    contrast = np.clip(measure_outline_contrast(table, selected), 0.1, params.full_contrast)
    return params.contrast_weight * float(np.log(contrast))


def _measure_recall(selected: np.ndarray, user_labels: np.ndarray) -> float:
    """Part of the user labels that a selection found without them; 0 where there are none."""
    known = user_labels >= 0
    return float((selected[known] == (user_labels[known] == 1)).mean()) if known.any() else 0.0


def _learn(
    graph: sparse.csr_matrix,
    round_: _Round,
    agreement: Agreement,
    excluded: np.ndarray,
    suspicion: np.ndarray,
    labels: np.ndarray,
) -> Vote:
    """Evidence of each segment: inside * share of its neighbours selected + (1 - inside) * linear posterior."""
    table, used = round_.table, np.ones(len(round_.table), dtype=bool)
    if round_.silent is not None:
        used &= ~round_.silent
    share = round_.graph @ labels.astype(np.float64)
    inside = measure_consistency(table, labels, share).inside
    posterior = fit_posterior(table.X, labels, table.areas, used)
    return Vote(
        table=table,
        params=round_.params,
        graph=graph,
        connectivity=round_.connectivity,
        user_labels=round_.user_labels,
        agreement=agreement,
        excluded=excluded,
        suspicion=suspicion,
        labels=labels,
        inside=inside,
        posterior=posterior,
        votes=inside * share + (1 - inside) * posterior.measure(table.X),
        walk_graph=round_.walk_graph,
        **_decide_later(table),
    )


def _decide_later(table: SegmentTable) -> dict[str, Any]:
    """What `decide_vote` fills in."""
    nothing, nowhere = np.zeros(table.n_images), np.zeros(len(table), dtype=bool)
    images = {"thresholds": nothing, "uncertainty": nothing, "empty": nothing > 0}
    return {"threshold": 0.0, "scores": nowhere.astype(float), "selected": nowhere, **images}


def vote_by_scores(table: SegmentTable, scores: np.ndarray, params: VoteParams = VoteParams()) -> Vote:
    """The decision on scores (n_segments,) of another voter, whose own threshold is at 0."""
    smoothed = table.smooth(np.asarray(scores, dtype=np.float64), params.smoothing)
    found = Vote(
        table=table,
        params=params,
        graph=sparse.csr_matrix((len(table), len(table))),
        connectivity=np.zeros(len(table)),
        user_labels=check_user_labels(None, len(table)),
        agreement=None,
        excluded=np.zeros(table.n_images, dtype=bool),
        suspicion=measure_suspicion(table, smoothed),
        labels=select(table, smoothed, params.decision)[0],
        inside=1.0,
        posterior=LinearPosterior(np.zeros(table.X.shape[1]), 0.0),
        votes=np.asarray(scores, dtype=np.float64),
        **_decide_later(table),
    )
    return decide_vote(found, threshold=0.0)


def decide_vote(found: Vote, threshold: float | None = None) -> Vote:
    """Thresholds, selection and uncertainty from the votes, before any correction."""
    table, scores = found.table, found.table.smooth(found.votes, found.params.smoothing)
    thresholds = select(table, scores, found.params.decision)[1]
    zero = otsu_threshold(scores, table.areas) if threshold is None else threshold
    scores, thresholds = scores - zero, np.where(table.positive, thresholds - zero, 0.0)
    found = replace(found, threshold=zero, votes=found.votes - zero, scores=scores, thresholds=thresholds)
    if found.params.allow_empty:
        found = _empty_unsupported(found)
    return apply_thresholds(found, scores)


def apply_thresholds(found: Vote, scores: np.ndarray) -> Vote:
    """The vote with other scores (n_segments,): what exceeds the thresholds is selected, at least the best of an image.

    Images that are empty select nothing unless a score exceeds their threshold.
    """
    table, selected = found.table, np.zeros(len(scores), dtype=bool)
    for image in map(int, np.flatnonzero(table.positive)):
        part, threshold = table.get_slice(image), float(found.thresholds[image])
        selected[part] = scores[part] > threshold if found.empty[image] else select_above(scores[part], threshold)
    selected = apply_labels(selected, found.user_labels)
    uncertainty = measure_uncertainty(table, scores, selected, found.agreement)
    return replace(found, scores=scores, selected=selected, uncertainty=uncertainty)


def _empty_unsupported(found: Vote) -> Vote:
    """Empty the *with* images whose evidence does not exceed that of *without* images, unless an object is labelled."""
    table = found.table
    shows = table.sum_by_image(found.user_labels == 1) > 0
    evidence = table.find_best(table.smooth(score_held_out(found), found.params.smoothing))
    empty = find_unsupported(evidence, table.positive, ~found.excluded & ~shows) & ~shows
    # Nothing is above the best score, until a correction lifts it.
    return replace(found, empty=empty, thresholds=np.where(empty, table.find_best(found.scores), found.thresholds))


def measure_uncertainty(
    table: SegmentTable, scores: np.ndarray, selected: np.ndarray, agreement: Agreement | None
) -> np.ndarray:
    """(n_images,) one minus separability times agreement of each *with* image; 0 for *without* images."""
    uncertainty, certainty = np.zeros(table.n_images), measure_separability(table, scores)
    if agreement is not None:
        parts = [table.split(one) for one in (table.areas, selected, *agreement.selections)]
        for image, (areas, own, *others) in enumerate(zip(*parts, strict=True)):
            certainty[image] *= np.mean([measure_overlap(areas, one, own) for one in others])
    uncertainty[table.positive] = 1 - certainty
    return uncertainty


def measure_separability(table: SegmentTable, scores: np.ndarray) -> np.ndarray:
    """(n_with,) how well Otsu's two classes explain the scores of each *with* image: 0 as any scores, 1 fully."""
    found = split_each(table.split(scores), table.split(table.areas))[1]
    return np.clip((found - NO_SEPARABILITY) / (FULL_SEPARABILITY - NO_SEPARABILITY), 0.0, 1.0)
