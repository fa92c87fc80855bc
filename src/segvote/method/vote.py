"""The vote: a table of segments and their neighbour graph in, scores and a selection out. Pure functions of arrays.

1. Walks over the votes of other images find segments that *with* images share and *without* images lack, under two
   hypotheses about the background; each counts by the self-consistency of its selection.
2. Images that are likely in the wrong folder are excluded, and the vote is held again.
3. The selection votes once more, beside a linear classifier of selected against not selected: the share of neighbours
   decides where objects repeat, the classifier where they vary.
4. Adjacent segments that look alike share their scores, and Otsu's threshold of each image decides.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit

from segvote.kernels import otsu_threshold, search_neighbours
from segvote.kernels.otsu import split_each
from segvote.method.decide import measure_inside, measure_overlap, select, select_above
from segvote.method.graph import exclude_voters
from segvote.method.held_out import choose_excluded, find_unsupported, measure_suspicion
from segvote.method.hypotheses import (
    Agreement,
    VoteInputs,
    VoteParams,
    leave_out_folds,
    revote,
    select_seeded,
    share_held_out,
    weigh_hypotheses,
)
from segvote.method.linear import LinearPosterior, fit_posterior
from segvote.method.table import SegmentTable, apply_labels, check_user_labels
from segvote.method.walk import measure_connectivity

# Otsu explains three quarters of the variance of almost any scores, and all but a twentieth of those of clear ones.
NO_SEPARABILITY, FULL_SEPARABILITY = 0.75, 0.95


@dataclass(frozen=True, kw_only=True)
class Evidence(VoteInputs):
    """A selection and a linear classifier of it, which score any segment."""

    agreement: Agreement | None  # of the hypotheses; None for the scores of another voter
    labels: np.ndarray  # (n_segments,) bool: the selection by which neighbours are counted
    inside: float  # mean share of its neighbours that are in it: weight of the neighbours beside the posterior
    posterior: LinearPosterior
    threshold: float = 0.0  # evidence at which scores are zero: Otsu's of all images together

    def combine(self, shares: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        """(n,) evidence: inside * share of selected neighbours + (1 - inside) * linear posterior."""
        return self.inside * shares + (1 - self.inside) * probabilities


@dataclass(frozen=True, kw_only=True)
class Vote(Evidence):
    """Evidence, and the scores and decisions that follow from it."""

    suspicion: np.ndarray  # (n_images,) similarity to the other folder, in [0, 1]
    votes: np.ndarray  # (n_segments,) evidence less the threshold
    scores: np.ndarray  # (n_segments,) votes, smoothed, with corrections
    thresholds: np.ndarray  # (n_images,) of scores; 0 for *without* images
    selected: np.ndarray  # (n_segments,) bool: the object
    uncertainty: np.ndarray  # (n_images,) of the mask, in [0, 1]
    empty: np.ndarray  # (n_images,) bool: *with* images without supported segments
    # Of corrections
    residuals: sparse.csr_matrix | None = None  # (n_segments, n_segments) change of row's score by column's correction
    kept: np.ndarray | None = None  # (n_images,) bool: images that no correction turned

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
    """Hold the vote on a table and its graph of `search_graph`.

    User labels (n_segments,) are -1 unknown, 0 background, 1 object; labelled segments vote with their label. If
    `seeded`, the walk starts from them instead of all *with* segments. The connectivity of `measure_connectivity` may
    be known already. A `walk_graph` has other votes to walk over; the outcome is judged on those of `graph`. The
    evidence at which scores are zero is Otsu's threshold of all segments, unless a `threshold` is given.
    """
    inputs = VoteInputs(
        table=table,
        params=params,
        graph=graph,
        connectivity=measure_connectivity(table) if connectivity is None else connectivity,
        user_labels=check_user_labels(user_labels, len(table)),
        excluded=np.zeros(table.n_images, dtype=bool),
        walk_graph=walk_graph,
    )
    agreement = weigh_hypotheses(inputs)
    suspicion = measure_suspicion(table, share_held_out(inputs, agreement.best))
    excluded = choose_excluded(suspicion, table.positive)
    if params.exclude_mislabelled and excluded.any():
        fewer = inputs.exclude(excluded)
        other = weigh_hypotheses(fewer)
        # A vote that is less consistent without the excluded images has lost good voters.
        if other.score > agreement.score:
            inputs, agreement = fewer, other
    labels = revote(inputs, select_seeded(inputs) if seeded else agreement.labels)
    shares = inputs.counted_graph @ labels.astype(np.float64)
    evidence = Evidence(
        **_list_fields(inputs),
        agreement=agreement,
        labels=labels,
        inside=measure_inside(table, labels, shares),
        posterior=fit_posterior(table.X, labels, table.areas, ~inputs.silent),
    )
    return decide_vote(evidence, evidence.combine(shares, evidence.posterior.measure(table.X)), suspicion, threshold)


def vote_by_scores(table: SegmentTable, scores: np.ndarray, params: VoteParams = VoteParams()) -> Vote:
    """The decision on scores (n_segments,) of another voter, whose own threshold is at 0."""
    votes = np.asarray(scores, dtype=np.float64)
    smoothed = table.smooth(votes, params.smoothing)
    evidence = Evidence(
        table=table,
        params=params,
        graph=sparse.csr_matrix((len(table), len(table))),
        connectivity=np.zeros(len(table)),
        user_labels=check_user_labels(None, len(table)),
        excluded=np.zeros(table.n_images, dtype=bool),
        agreement=None,
        labels=select(table, smoothed, params.decision)[0],
        inside=1.0,
        posterior=LinearPosterior(np.zeros(table.X.shape[1]), 0.0),
    )
    return decide_vote(evidence, votes, measure_suspicion(table, smoothed), threshold=0.0)


def decide_vote(evidence: Evidence, votes: np.ndarray, suspicion: np.ndarray, threshold: float | None = None) -> Vote:
    """Scores, thresholds, selection and uncertainty from votes (n_segments,), before any correction."""
    table, params = evidence.table, evidence.params
    scores = table.smooth(votes, params.smoothing)
    zero = otsu_threshold(scores, table.areas) if threshold is None else threshold
    thresholds = np.where(table.positive, select(table, scores, params.decision)[1] - zero, 0.0)
    evidence, scores, empty = replace(evidence, threshold=zero), scores - zero, np.zeros(table.n_images, dtype=bool)
    if params.allow_empty:
        empty = _find_empty(evidence)
        # Nothing exceeds the best score of an empty image until a correction does.
        thresholds = np.where(empty, table.find_best(scores), thresholds)
    selected = select_above_thresholds(table, scores, thresholds, empty, evidence.user_labels)
    results = {
        "suspicion": suspicion,
        "votes": votes - zero,
        "scores": scores,
        "thresholds": thresholds,
        "selected": selected,
        "uncertainty": measure_uncertainty(table, scores, selected, evidence.agreement),
        "empty": empty,
    }
    return Vote(**_list_fields(evidence) | results)


def _list_fields(found: VoteInputs) -> dict[str, Any]:
    return {one.name: getattr(found, one.name) for one in fields(found)}


def _find_empty(evidence: Evidence) -> np.ndarray:
    """(n_images,) bool: *with* images whose evidence *without* images reach, and that have no object label."""
    table = evidence.table
    shows = table.sum_by_image(evidence.user_labels == 1) > 0
    best = table.find_best(table.smooth(score_held_out(evidence), evidence.params.smoothing))
    return find_unsupported(best, table.positive, ~evidence.excluded & ~shows) & ~shows


def apply_thresholds(found: Vote, scores: np.ndarray) -> Vote:
    """The vote with other scores (n_segments,), and the selection and uncertainty that follow from them."""
    selected = select_above_thresholds(found.table, scores, found.thresholds, found.empty, found.user_labels)
    uncertainty = measure_uncertainty(found.table, scores, selected, found.agreement)
    return replace(found, scores=scores, selected=selected, uncertainty=uncertainty)


def select_above_thresholds(
    table: SegmentTable, scores: np.ndarray, thresholds: np.ndarray, empty: np.ndarray, user_labels: np.ndarray
) -> np.ndarray:
    """(n_segments,) bool: segments of *with* images above the thresholds (n_images,); user labels hold.

    Every *with* image keeps its best segment, unless it is empty (n_images,).
    """
    selected = np.zeros(len(scores), dtype=bool)
    for image in map(int, np.flatnonzero(table.positive)):
        part, threshold = table.get_slice(image), float(thresholds[image])
        selected[part] = scores[part] > threshold if empty[image] else select_above(scores[part], threshold)
    return apply_labels(selected, user_labels)


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


# Scores of images left out, and of images never seen ------------------------------------------------------------------


def score_held_out(found: Evidence, folds: np.ndarray | None = None) -> np.ndarray:
    """(n_segments,) scores before smoothing, each from a vote that its image had no part in.

    The scores of a vote leave a segment's own image out of its neighbours, but the selection of the others was found
    with the image among them. Here each fold of images is left out of walk, neighbours and linear classifier; `folds`
    (n_images,) are the numbers of the folds, if given.
    """
    assert found.agreement is not None
    table, scores = found.table, np.empty(len(found.table))
    for out, graph, selected in leave_out_folds(found, found.agreement.best, folds):
        # The walk over the graph is the opinion that a second one replaced.
        labels = (found.labels if found.walk_graph is not None else apply_labels(selected, found.user_labels)) & ~out
        posterior = fit_posterior(table.X, labels, table.areas, ~out & ~found.silent)
        scores[out] = found.combine(graph[out] @ labels.astype(np.float64), posterior.measure(table.X[out]))
    return scores - found.threshold


def link_unseen(found: Evidence, X: np.ndarray, images: np.ndarray | None = None) -> sparse.csr_matrix:
    """(n, n_segments) votes of training segments for segments (n, d).

    Segments of the training images (n,), of which -1 is none, do not vote for their own.
    """
    table = found.table
    own = None if images is None else np.where(images >= 0, table.image_bags[images], -1)
    neighbours = search_neighbours(X, table.X, found.params.n_neighbors, own, table.bags)
    return exclude_voters(neighbours.build_graph(), found.silent)


def score_linked(found: Evidence, X: np.ndarray, graph: sparse.csr_matrix) -> np.ndarray:
    """(n,) scores before smoothing of segments (n, d) by the votes of `link_unseen`."""
    return found.combine(graph @ found.labels.astype(np.float64), found.posterior.measure(X)) - found.threshold


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


def explain_vote(found: Vote, segment: int) -> Explanation:
    """Contributions to the score of a training segment before smoothing.

    Every neighbour adds its vote less the threshold; the constant is the linear classifier's part.
    """
    row = found.counted_graph[[segment]]
    amounts = row.data * (found.inside * found.labels[row.indices] - found.threshold)
    linear = (1 - found.inside) * float(found.posterior.measure(found.table.X[[segment]])[0])
    constant = linear - found.threshold * (1 - row.data.sum())
    return group_by_bag(row.indices.astype(np.int64), amounts, found.table.images, constant)
