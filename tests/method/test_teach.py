"""Votes that finished images teach, each part from its definition."""

import numpy as np
import pytest
from made_tables import hold_wrong, measure_iou

from segvote.method.cross_fit import make_folds
from segvote.method.teach import (
    fit_classifier,
    score_taught_held_out,
    select_seeded,
    teach,
    weigh_restart,
)
from segvote.method.vote import fit_scorer, revote
from segvote.method.walk import walk_from_labels


def finish(vote, truth, images):
    """(n_segments,) shares of finished images; NaN in others."""
    return np.where(np.isin(vote.table.images, images), truth.astype(float), np.nan)


def test_one_finished_image_turns_a_vote_over():
    base, truth = hold_wrong()
    assert measure_iou(base.selection.selected, truth) < 0.1
    taught = teach(base, finish(base, truth, [0]))
    assert measure_iou(taught.selection.selected, truth) > 0.95


def test_finished_images_hold():
    base, truth = hold_wrong()
    odd = truth.copy()
    odd[:5] = ~odd[:5]
    taught = teach(base, finish(base, odd, [0, 1]))
    own = np.isin(base.table.images, [0, 1])
    assert np.array_equal(taught.selection.selected[own], odd[own])


def weigh_slowly(table, M, restarted, before):
    """Square of the ratio of inside (1 - rest) (1 - without), at most 1, image by image."""

    def measure(selected):
        shares, rest = M @ selected, table.is_candidate & ~selected
        inside, outside = (np.average(shares[part], weights=table.areas[part]) for part in (selected, rest))
        without = []
        for image in np.flatnonzero(~table.positive):
            own = np.flatnonzero(table.images == image)
            left, total = 0.05 * table.areas[own].sum(), 0.0
            for segment in own[np.argsort(-shares[own], kind="stable")]:
                part = min(left, table.areas[segment])
                total, left = total + part * shares[segment], left - part
            without.append(total / (0.05 * table.areas[own].sum()))
        return inside * (1 - outside) * (1 - np.mean(without))

    return min(1.0, measure(restarted) / measure(before)) ** 2


def test_a_restart_counts_by_its_self_consistency():
    base, truth = hold_wrong()
    M, table = base.inputs.graph.toarray(), base.table
    scattered = table.is_candidate & (np.random.default_rng(0).random(len(table)) < 0.1)
    for restarted in (truth, scattered):
        weight = weigh_restart(base.electorate, restarted, base.selection.selected)
        assert weight == pytest.approx(weigh_slowly(table, M, restarted, base.selection.selected), rel=1e-6)
    assert weigh_restart(base.electorate, scattered, base.selection.selected) < 0.1
    assert weigh_restart(base.electorate, base.selection.selected, scattered) == 1.0


def test_a_taught_vote_is_that_of_the_formula():
    base, truth = hold_wrong()
    table, finished = base.table, finish(base, truth, [0, 2])
    taught = teach(base, finished)
    M, labels = base.inputs.graph.toarray(), np.where(np.isnan(finished), -1, finished)
    w = (labels == 1).astype(float)
    for _ in range(base.inputs.params.n_steps):
        w = np.where(labels >= 0, labels, np.where(table.is_candidate, M @ w, 0.0))
    restarted = revote(taught.electorate, select_seeded(taught.electorate))
    restart = fit_scorer(taught.electorate, restarted)[0]
    slow = M @ restart.votes + restart.classifiers[0].weight * restart.classifiers[0].measure(table.X)
    slow *= weigh_slowly(table, M, restarted, base.selection.selected)
    slow += (
        M @ base.scorer.votes + base.scorer.classifiers[0].weight * base.scorer.classifiers[0].measure(table.X)
    ) / 2
    classifier = taught.scorer.classifiers[-1]
    context = table.X @ classifier.direction + table.adjacency.toarray() @ (table.X @ classifier.context)
    slow += 1 / (1 + np.exp(-(context + classifier.offset)))
    np.testing.assert_allclose(taught.selection.unsmoothed + taught.scorer.threshold, slow, rtol=1e-6, atol=1e-6)
    walked = walk_from_labels(base.inputs.graph, table.is_candidate, labels.astype(int), base.inputs.params.n_steps)
    np.testing.assert_allclose(walked, w, atol=1e-9)


def test_the_classifier_of_finished_images_is_a_logistic_regression():
    base, truth = hold_wrong()
    table, finished = base.table, finish(base, truth, [0])
    labels = np.where(np.isnan(finished), -1, finished).astype(np.int8)
    classifier = fit_classifier(table, labels, finished, np.ones(len(table), dtype=bool))
    rows = np.flatnonzero((labels >= 0) | ~table.is_candidate)
    features = np.hstack([table.X, table.adjacency @ table.X])[rows]
    z = (features - features.mean(0)) / features.std(0)
    kinds = [labels[rows] == 1, labels[rows] == 0, labels[rows] < 0]
    weights = sum(
        share * (kind * table.shares[rows]) / (kind * table.shares[rows]).sum()
        for share, kind in zip((0.5, 0.25, 0.25), kinds, strict=True)
    )
    weights *= len(rows)
    slopes = np.concatenate([classifier.direction, classifier.context]) * features.std(0)
    intercept = classifier.offset + np.concatenate([classifier.direction, classifier.context]) @ features.mean(0)
    p = 1 / (1 + np.exp(-(z @ slopes + intercept)))
    gradient = 0.01 * z.T @ (weights * (p - kinds[0])) + slopes
    assert np.abs(gradient).max() < 0.02


def test_held_out_scores_of_a_taught_vote_leave_the_fold_out():
    base, truth = hold_wrong()
    finished, folds = finish(base, truth, [0, 1]), make_folds(base.table, 5)
    taught = teach(base, finished)
    scores = score_taught_held_out(base, taught, finished, folds)
    # Other labels in a fold change nothing for the fold itself.
    out = folds[base.table.images] == folds[0]
    changed = np.where(out & ~np.isnan(finished), 1 - finished, finished)
    again = score_taught_held_out(base, teach(base, changed), changed, folds)
    threshold = teach(base, changed).scorer.threshold - taught.scorer.threshold
    np.testing.assert_allclose(scores[out], again[out] + threshold, atol=1e-9)
