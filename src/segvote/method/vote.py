"""The vote: a table of segments and their neighbour graph in, scores and a selection out. Pure functions of arrays.

1. Walks over the votes of other images find segments that *with* images share and *without* images lack, under two
   hypotheses about the background; each counts by the self-consistency of its selection.
2. Images that are likely in the wrong folder are excluded, if the vote without them is more self-consistent.
3. The selection votes once more, beside a linear classifier of selected against not selected: the share of neighbours
   decides where objects repeat, the classifier where they vary.
4. Adjacent segments that look alike share their scores, and Otsu's threshold of each image decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from segvote.method.consistency import measure_inside, measure_uncertainty
from segvote.method.cross_fit import find_unsupported, score_held_out, share_held_out
from segvote.method.hypotheses import (
    Electorate,
    VoteInputs,
    VoteParams,
    WeightedHypotheses,
    weigh_hypotheses,
)
from segvote.method.linear import fit_posterior
from segvote.method.mislabelled import choose_excluded, classify_held_out, measure_suspicion
from segvote.method.prior import measure_connectivity
from segvote.method.scorer import Scorer
from segvote.method.table import SegmentTable
from segvote.method.threshold import apply_thresholds, select
from segvote.numerics import otsu_threshold
from segvote.selection import DEFAULT_EXTENT, Selection, apply_labels, make_unknown_labels


@dataclass(frozen=True)
class Diagnostics:
    """How a vote came about: what confidence and explanations read."""

    hypotheses: WeightedHypotheses
    suspicion: np.ndarray  # (n_images,) similarity to the other folder, in [0, 1]
    excluded: np.ndarray  # (n_images,) bool: images that do not vote
    start: np.ndarray  # (n_segments,) soft labels that voted first, in [0, 1]
    seeds: np.ndarray  # segments from which the walk to `start` began; none for the labels of the hypotheses


@dataclass(frozen=True)
class Vote:
    """The outcome of a vote, and the inputs that it was held on."""

    inputs: VoteInputs
    scorer: Scorer
    selection: Selection
    diagnostics: Diagnostics

    @property
    def table(self) -> SegmentTable:
        """The segments that were voted on."""
        return self.inputs.table

    @cached_property
    def electorate(self) -> Electorate:
        """Which segments voted."""
        return Electorate(self.inputs, self.selection.user_labels, self.diagnostics.excluded)

    @property
    def weights(self) -> np.ndarray:
        """(n_segments,) soft labels in [0, 1]; 0 in *without* images; user labels hold."""
        return weigh_segments(self.table, self.selection, self.scorer.compute_soft_labels(self.selection.scores))

    def score_held_out(self, folds: np.ndarray | None = None) -> np.ndarray:
        """(n_segments,) scores before smoothing, each from a vote without its image, see `cross_fit.score_held_out`."""
        best, seeds = self.diagnostics.hypotheses.best, self.diagnostics.seeds
        return score_held_out(self.electorate, best, folds, seeds) - self.scorer.threshold


def make_inputs(table: SegmentTable, graph: sparse.csr_matrix, params: VoteParams = VoteParams()) -> VoteInputs:
    """What a vote on a table and its graph of `search_graph` is held on."""
    return VoteInputs(table, graph, graph, params, measure_connectivity(table), classify_held_out(table))


def vote(inputs: VoteInputs) -> Vote:
    """Hold the vote."""
    table = inputs.table
    everyone = Electorate(inputs, make_unknown_labels(len(table)), np.zeros(table.n_images, dtype=bool))
    first = weigh_hypotheses(everyone)
    suspicion = measure_suspicion(table, share_held_out(everyone, first.best), inputs.image_logits)
    electorate, hypotheses = _exclude_mislabelled(everyone, first, suspicion)
    return fit_vote(electorate, hypotheses.labels, hypotheses, suspicion)


def fit_vote(
    electorate: Electorate,
    start: np.ndarray,
    hypotheses: WeightedHypotheses,
    suspicion: np.ndarray,
    *,
    seeds: np.ndarray | None = None,
    threshold: float | None = None,
) -> Vote:
    """The vote that begins with soft labels `start` (n_segments,): re-vote, linear classifier, decision.

    The evidence at which scores are zero is Otsu's threshold of all segments, unless a `threshold` is given. `seeds`
    are the segments from which a walk found `start`; none for the labels of the hypotheses.
    """
    seeds = np.empty(0, dtype=np.int64) if seeds is None else seeds
    scorer, evidence = fit_scorer(electorate, revote(electorate, start))
    diagnostics = Diagnostics(hypotheses, suspicion, electorate.excluded_images, start, seeds)
    return decide_vote(electorate, scorer, evidence, diagnostics, threshold)


def decide_vote(
    electorate: Electorate,
    scorer: Scorer,
    evidence: np.ndarray,
    diagnostics: Diagnostics,
    threshold: float | None = None,
) -> Vote:
    """The vote by a scorer and the evidence (n_segments,) that it gives, with the threshold as for `fit_vote`."""
    inputs, hypotheses = electorate.inputs, diagnostics.hypotheses
    scorer = replace(scorer, threshold=find_threshold(inputs, evidence) if threshold is None else threshold)
    empty = np.zeros(inputs.table.n_images, dtype=bool)
    if inputs.params.allow_empty:
        empty = _find_empty(electorate, hypotheses.best)
    selection = decide(
        inputs.table,
        inputs.params,
        evidence,
        scorer.threshold,
        user_labels=electorate.user_labels,
        walks=hypotheses.selections,
        empty=empty,
    )
    return Vote(inputs, scorer, selection, diagnostics)


def _exclude_mislabelled(
    everyone: Electorate, hypotheses: WeightedHypotheses, suspicion: np.ndarray
) -> tuple[Electorate, WeightedHypotheses]:
    """The electorate without images that are likely in the wrong folder, and its hypotheses, if it is better."""
    excluded = choose_excluded(suspicion, everyone.inputs.table.positive)
    if not everyone.inputs.params.exclude_mislabelled or not excluded.any():
        return everyone, hypotheses
    fewer = replace(everyone, excluded_images=excluded)
    others = weigh_hypotheses(fewer)
    # A vote that is less consistent without the excluded images has lost good voters.
    return (fewer, others) if others.consistency > hypotheses.consistency else (everyone, hypotheses)


def revote(electorate: Electorate, labels: np.ndarray) -> np.ndarray:
    """Selected segments (n_segments,) after one more round, in which labels (n_segments,) in [0, 1] vote."""
    table, params = electorate.inputs.table, electorate.inputs.params
    share = table.smooth(electorate.graph @ labels.astype(np.float64), params.smoothing)
    return apply_labels(select(table, share)[0], electorate.user_labels)


def fit_scorer(electorate: Electorate, labels: np.ndarray) -> tuple[Scorer, np.ndarray]:
    """A scorer by labels (n_segments,) bool with the threshold 0, and the evidence (n_segments,) that it gives.

    Neighbours count by how far the labels repeat: ``inside`` is the mean share of labelled neighbours of a labelled
    segment, and the linear classifier counts ``1 - inside``.
    """
    table = electorate.inputs.table
    inside = measure_inside(table, labels, electorate.graph @ labels.astype(np.float64))
    posterior = fit_posterior(table.X, labels, table.areas, ~electorate.excluded, table.moments)
    scorer = Scorer(
        X=table.X,
        bags=table.bags,
        votes=inside * labels,
        excluded=electorate.excluded,
        classifiers=(replace(posterior, weight=1 - inside),),
        threshold=0.0,
        n_neighbors=electorate.inputs.params.n_neighbors,
    )
    return scorer, scorer.sum_evidence(table.X, electorate.graph)


def find_threshold(inputs: VoteInputs, evidence: np.ndarray) -> float:
    """Evidence at which scores are zero: Otsu's threshold of the smoothed evidence (n_segments,) of all images."""
    return otsu_threshold(inputs.table.smooth(evidence, inputs.params.smoothing), inputs.table.areas)


def _find_empty(electorate: Electorate, best: int) -> np.ndarray:
    """(n_images,) bool: *with* images whose evidence *without* images reach, and that have no object label."""
    table, smoothing = electorate.inputs.table, electorate.inputs.params.smoothing
    shows = table.sum_by_image(electorate.user_labels == 1) > 0
    highest = table.max_by_image(table.smooth(score_held_out(electorate, best), smoothing))
    return find_unsupported(highest, table.positive, ~electorate.excluded_images & ~shows) & ~shows


# From evidence to a selection -----------------------------------------------------------------------------------------


def decide(
    table: SegmentTable,
    params: VoteParams,
    evidence: np.ndarray,
    threshold: float,
    *,
    user_labels: np.ndarray,
    walks: np.ndarray,
    empty: np.ndarray,
) -> Selection:
    """The selection by evidence (n_segments,), of which `threshold` becomes score 0; before any correction.

    `walks` (n_walks, n_segments) are other selections by which it is uncertain, `empty` (n_images,) images to be kept
    empty.
    """
    smoothed = table.smooth(evidence, params.smoothing)
    thresholds = np.where(table.positive, select(table, smoothed, params.decision)[1] - threshold, 0.0)
    scores = smoothed - threshold
    # Nothing exceeds the best score of an empty image until a correction does.
    thresholds = np.where(empty, table.max_by_image(scores), thresholds)
    selected = apply_thresholds(table, scores, thresholds, empty, user_labels)
    return Selection(
        offsets=table.offsets,
        unsmoothed=evidence - threshold,
        scores=scores,
        selected=selected,
        user_labels=user_labels,
        thresholds=thresholds,
        uncertainty=measure_uncertainty(table, scores, selected, walks),
        empty=empty,
        extent=np.full(table.n_images, DEFAULT_EXTENT),
    )


def decide_scores(table: SegmentTable, scores: np.ndarray, params: VoteParams = VoteParams()) -> Selection:
    """The selection by scores (n_segments,) of another voter, whose own threshold is at 0."""
    return decide(
        table,
        params,
        np.asarray(scores, dtype=np.float64),
        0.0,
        user_labels=make_unknown_labels(len(table)),
        walks=np.empty((0, len(table)), dtype=bool),
        empty=np.zeros(table.n_images, dtype=bool),
    )


def weigh_segments(table: SegmentTable, selection: Selection, soft: np.ndarray) -> np.ndarray:
    """(n_segments,) soft labels in [0, 1]: `soft` in *with* images, 0 in *without* images; user labels hold."""
    weights = np.where(table.is_candidate, soft, 0.0)
    return np.where(selection.user_labels >= 0, selection.user_labels, weights)


# Explanation ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Explanation:
    """The votes for one segment. ``amounts.sum() + constant`` is its score."""

    voters: np.ndarray  # (m,) int training segments that voted
    amounts: np.ndarray  # (m,) contribution of each, positive for and negative against
    bags: np.ndarray  # (n,) bags of the voters
    bag_amounts: np.ndarray  # (n,) sums of the amounts of each bag
    constant: float  # the intercept
    score: float  # of the segment, as `decision_function` gives it


def group_by_bag(voters: np.ndarray, amounts: np.ndarray, bags: np.ndarray, constant: float = 0.0) -> Explanation:
    """Make an `Explanation`; `bags` are the bag ids of all training segments."""
    names, codes = np.unique(bags[voters], return_inverse=True)
    bag_amounts = np.bincount(codes, weights=amounts, minlength=len(names))
    return Explanation(voters, amounts, names, bag_amounts, float(constant), float(amounts.sum() + constant))


def explain_vote(vote: Vote, segment: int) -> Explanation:
    """Contributions to the score of a training segment before smoothing.

    Every neighbour adds its vote less the threshold; the constant is the linear classifier's part.
    """
    scorer, row = vote.scorer, vote.electorate.graph[[segment]]
    amounts = row.data * (scorer.votes[row.indices] - scorer.threshold)
    linear = vote.selection.unsmoothed[segment] + scorer.threshold - float(row.data @ scorer.votes[row.indices])
    constant = linear - scorer.threshold * (1 - row.data.sum())
    return group_by_bag(row.indices.astype(np.int64), amounts, scorer.bags, constant)
