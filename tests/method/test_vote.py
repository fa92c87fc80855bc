"""The vote: it finds what is planted, agrees with its slow twin, and leaves its inputs alone."""

from dataclasses import replace

import numpy as np
import pytest
from made_tables import hold, label, make_scene, measure_iou, tabulate
from reference import vote_slowly

from segvote.method.correct import refit_with_labels
from segvote.method.graph import search_graph
from segvote.method.hypotheses import VoteParams, value_contrast
from segvote.method.table import Geometry
from segvote.method.vote import decide_scores, explain_vote, make_inputs, vote


@pytest.fixture(scope="module")
def held():
    return hold(make_scene(noise=0.6))


@pytest.mark.parametrize("seed", range(4))
def test_what_is_planted_is_found(seed):
    scene = make_scene(seed=seed)
    found = hold(scene).selection
    assert measure_iou(found.selected, scene[4]) > 0.9
    assert (found.uncertainty < 0.5).mean() > 0.9


@pytest.mark.parametrize("noise", [0.15, 0.6, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_fast_code_agrees_with_the_formulas(noise, seed):
    scene = make_scene(n_images=12, n_segments=10, noise=noise, seed=seed)
    selected, weights = vote_slowly(*scene[:4], k=10)
    held = hold(scene, exclude_mislabelled=False)
    assert np.array_equal(held.selection.selected, selected)
    assert held.diagnostics.hypotheses.weights == pytest.approx(weights)


def test_the_order_of_images_does_not_matter():
    X, y, images, geometry, truth = make_scene(noise=0.5)
    order = np.random.default_rng(1).permutation(24)
    rows = np.concatenate([np.flatnonzero(images == image) for image in order])
    place = np.empty(len(rows), dtype=int)
    place[rows] = np.arange(len(rows))
    edges = place[geometry.edges]
    by_image = np.argsort(edges[:, 0] // 20, kind="stable")
    lengths, contrasts = geometry.lengths[by_image], geometry.contrasts[by_image]
    moved = Geometry(geometry.areas[rows], geometry.border[rows], edges[by_image], lengths, contrasts)
    one = hold((X, y, images, geometry, truth), exclude_mislabelled=False).selection
    other = hold((X[rows], y[rows], images, moved, truth[rows]), exclude_mislabelled=False).selection
    assert np.array_equal(one.selected[rows], other.selected)
    assert np.allclose(one.scores[rows], other.scores, atol=1e-9)


def test_inputs_are_not_modified():
    scene = make_scene()
    table = tabulate(scene)
    graph = search_graph(table, 10)
    before = [np.copy(one) for one in (table.X, table.areas, table.contrasts, graph.data)]
    vote(make_inputs(table, graph, VoteParams(n_neighbors=10)))
    after = (table.X, table.areas, table.contrasts, graph.data)
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def test_the_explanation_sums_to_the_votes(held):
    for segment in range(0, 480, 37):
        told = explain_vote(held, segment)
        assert np.isclose(told.score, held.selection.unsmoothed[segment])
        assert np.isclose(told.amounts.sum() + told.constant, told.score)
        assert np.isclose(told.bag_amounts.sum(), told.amounts.sum())
        assert segment // 20 not in told.bags


def test_user_labels_hold_and_count_in_weights():
    scene = make_scene(noise=0.3)
    labels = label(480, objects=[9, 479], background=[5])
    held = refit_with_labels(hold(scene), labels)
    found = held.selection
    assert found.selected[[9, 479]].all() and not found.selected[5]
    assert held.weights[[9, 479, 5]].tolist() == [1, 1, 0]
    assert np.array_equal(found.user_labels, labels)


def test_labels_can_turn_a_vote_to_another_selection():
    scene = make_scene(noise=0.3)
    found = refit_with_labels(hold(scene), label(480, background=np.flatnonzero(scene[4]))).selection
    assert not found.selected[scene[4]].any() and found.selected.any()


@pytest.mark.parametrize(
    ("contrast", "worth"), [(1.0, 0.0), (1.5, 0.2 * np.log(1.5)), (2.0, 0.2 * np.log(2)), (4.0, 0.2 * np.log(2))]
)
def test_contrast_beyond_twice_the_mean_is_worth_no_more(contrast, worth, monkeypatch):
    monkeypatch.setattr("segvote.method.hypotheses.measure_outline_contrast", lambda table, selected: contrast)
    assert value_contrast(tabulate(make_scene()), np.zeros(480, dtype=bool), VoteParams()) == pytest.approx(worth)


def test_images_in_the_wrong_folder_are_excluded():
    X, y, images, geometry, truth = make_scene(n_images=60, n_segments=10, noise=0.15)
    wrong = y.copy()
    wrong[images < 2] = False
    wrong[images >= 58] = True
    held = hold((X, wrong, images, geometry, truth))
    excluded = set(np.flatnonzero(held.diagnostics.excluded))
    assert len(excluded & {0, 1, 58, 59}) >= 3 and len(excluded) <= 5
    assert measure_iou(held.selection.selected & (images < 58), truth & (images >= 2)) > 0.9
    left_out = held.electorate.graph[:, held.electorate.excluded]
    assert not left_out.nnz or not left_out.data.any()
    assert np.array_equal(held.scorer.excluded, held.diagnostics.excluded[images])
    kept = hold((X, wrong, images, geometry, truth), exclude_mislabelled=False)
    assert not kept.diagnostics.excluded.any()


def test_labelled_segments_of_excluded_images_vote():
    excluded, labels = np.arange(24) == 0, label(480, objects=[3])
    changed = replace(hold(make_scene()).electorate, excluded_images=excluded, user_labels=labels)
    assert np.flatnonzero(changed.excluded).tolist() == [one for one in range(20) if one != 3]


def test_without_geometry_only_the_features_vote():
    X, y, images, _, truth = make_scene()
    assert measure_iou(hold((X, y, images, None, truth)).selection.selected, truth) > 0.9


def test_scores_of_another_voter_are_smoothed_and_split():
    scene = make_scene()
    table, scores = tabulate(scene), np.random.default_rng(0).normal(size=480) + 6 * scene[4]
    found = decide_scores(table, scores)
    assert np.allclose(found.scores, table.smooth(scores, 0.4)) and not found.empty.any()
    assert measure_iou(found.selected, scene[4]) > 0.9


# Images never seen


def test_unseen_scores_are_those_of_the_formula():
    scorer = hold(make_scene(noise=0.6)).scorer
    X = make_scene(n_images=2, noise=0.6, seed=1)[0]
    squared = ((X[:, None] - scorer.X[None]) ** 2).sum(-1)
    slow = []
    for distances in squared:
        near = np.argsort(distances, kind="stable")[:10]
        votes = np.exp(-(distances[near] - distances[near[0]]) / (2 * distances[near[-1]] / 4))
        slow.append(votes @ scorer.votes[near] / votes.sum())
    (classifier,) = scorer.classifiers
    expected = np.array(slow) + classifier.weight * classifier.measure(X) - scorer.threshold
    assert np.allclose(scorer.score(X, scorer.build_graph(X)), expected, atol=1e-5)
