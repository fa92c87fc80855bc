"""What finished images change: the whole vote, which is held anew from them.

A *finished image* labels each of its segments, object or background. Labels of single segments say less, and stay
local, see `segvote.method.correct`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from segvote.method.consistency import measure_consistency
from segvote.method.cross_fit import Fold, measure_folds
from segvote.method.hypotheses import Electorate, select_walked
from segvote.method.inputs import check_user_labels
from segvote.method.linear import LinearPosterior, fit_labelled
from segvote.method.scorer import Scorer, blend_scorers
from segvote.method.table import SegmentTable
from segvote.method.vote import Vote, decide_vote, fit_scorer, revote
from segvote.method.walk import walk_from_labels
from segvote.selection import apply_labels, join_finished

# Exponent of the ratio of self-consistencies by which a restart counts.
RESTART_EXPONENT = 2
# Segments of *without* images that the classifier of finished images learns from, at most about twice as many.
MOST_WITHOUT = 4000


def teach(base: Vote, finished: np.ndarray, user_labels: np.ndarray | None = None) -> Vote:
    """The vote after some images were finished: the label of each of their segments is known, object or background.

    Three opinions are added up. *Restart*: a walk from the labels of the finished images, its selection voting like
    that of any vote, and counting by its self-consistency, see `weigh_restart`. *Classifier*: a logistic regression of
    labelled segments and *without* segments on the features of a segment and the mean features of its adjacent
    segments. *Base*: the vote before, divided by the number of finished images. On sixteen sets the sum was better than
    each of them and than the one that predicts finished images best when they are left out: with a few images that
    choice is mostly noise (docs/research/measurements.md).

    Parameters
    ----------
    base : Vote
        Without user labels.
    finished : (n_segments,)
        Share of each segment of the finished images that is object, in [0, 1]; NaN in other images.
    user_labels : (n_segments,), optional
        Labels of single segments of other images: -1 unknown, 0 background, 1 object.
    """
    labels = join_finished(check_user_labels(user_labels, len(base.table)), finished)
    electorate = replace(base.electorate, user_labels=labels)
    scorer, evidence = fit_taught(electorate, base.scorer, base.selection.selected, finished)
    return decide_vote(electorate, scorer, evidence, base.diagnostics)


def fit_taught(
    electorate: Electorate, base: Scorer, before: np.ndarray, finished: np.ndarray
) -> tuple[Scorer, np.ndarray]:
    """The scorer of `teach`, and the evidence (n_segments,) that it gives; `before` is the selection of the base."""
    table = electorate.inputs.table
    n_finished = len(np.unique(table.images[~np.isnan(finished)]))
    restarted = revote(electorate, select_seeded(electorate))
    restart, _ = fit_scorer(electorate, restarted)
    classifier = fit_classifier(table, electorate.user_labels, finished, ~electorate.excluded)
    weights = [weigh_restart(electorate, restarted, before), 1 / max(n_finished, 1)]
    scorer = blend_scorers([restart, base], weights, classifier)
    return scorer, scorer.sum_evidence(table.X, electorate.graph, table.adjacency)


def select_seeded(electorate: Electorate) -> np.ndarray:
    """(n_segments,) bool: the object by a walk from the labels of finished images, without prior or balance.

    Nothing of the vote before takes part.
    """
    table, params, labels = electorate.inputs.table, electorate.inputs.params, electorate.user_labels
    votes = walk_from_labels(electorate.graph, table.is_candidate, labels, params.n_steps)
    return apply_labels(select_walked(table, votes, params), labels)


def weigh_restart(electorate: Electorate, restarted: np.ndarray, before: np.ndarray) -> float:
    """Weight of a restart, in [0, 1]: the square of its self-consistency over that of the vote before, at most 1.

    A finished image that is not typical leads the walk to something that hardly repeats in other images. `restarted`
    and `before` are the selections (n_segments,) bool.
    """
    table, graph = electorate.inputs.table, electorate.graph
    voting = [selected & ~electorate.excluded for selected in (restarted, before)]
    new, old = (measure_consistency(table, selected, graph @ selected.astype(np.float64)) for selected in voting)
    return min(1.0, new / old) ** RESTART_EXPONENT if old > 0 else 1.0


def fit_classifier(
    table: SegmentTable, user_labels: np.ndarray, finished: np.ndarray, used: np.ndarray
) -> LinearPosterior:
    """Logistic regression of the labelled segments (n_segments,) and of *without* segments, of those used.

    Object segments weigh one half, labelled background and *without* images a quarter each. A segment that the mask of
    a finished image cuts counts by how far it is one or the other.
    """
    without = np.flatnonzero(~table.is_candidate & (user_labels < 0) & used)
    without = without[:: max(1, len(without) // MOST_WITHOUT)]
    parts = [np.flatnonzero((user_labels == value) & used) for value in (1, 0)]
    if not len(parts[0]) or not (len(parts[1]) + len(without)):
        return LinearPosterior(np.zeros(table.X.shape[1]), 0.0, weight=0.0)
    sureness = np.nan_to_num(np.abs(2 * finished - 1), nan=1.0)
    rows, weights = [], []
    for part, share in zip((*parts, without), (0.5, 0.25, 0.25), strict=True):
        own = table.shares[part] * sureness[part] + 1e-9
        rows.append(part)
        weights.append(share * own / own.sum() if len(part) else own)
    chosen = np.concatenate(rows)
    around = table.adjacency[chosen] @ table.X
    return fit_labelled(table.X[chosen], around, user_labels[chosen] == 1, np.concatenate(weights))


def score_taught_held_out(base: Vote, taught: Vote, finished: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """(n_segments,) scores before smoothing of a taught vote, each without its image; `folds` (n_images,) are numbers.

    As `segvote.method.cross_fit.score_held_out`: a fold is left out of all three opinions, finished or not.
    """
    table, diagnostics, labels = base.table, base.diagnostics, taught.selection.user_labels

    def measure(fold: Fold) -> np.ndarray:
        out, images = fold.out, np.zeros(table.n_images, dtype=bool)
        images[np.unique(table.images[out])] = True
        left = replace(base.electorate, user_labels=np.where(out, np.int8(-1), labels))
        left = replace(left, excluded_images=left.excluded_images | images)
        before, _ = fit_scorer(left, fold.selected & ~out)
        scorer, _ = fit_taught(left, before, fold.selected, np.where(out, np.nan, finished))
        return scorer.sum_evidence(table.X[out], fold.graph[out], table.adjacency[out][:, out])

    scores = measure_folds(measure, base.electorate, diagnostics.hypotheses.best, folds, diagnostics.seeds)
    return scores - taught.scorer.threshold
