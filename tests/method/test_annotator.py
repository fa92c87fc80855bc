"""The method on arrays: it finds what is planted, agrees with the formulas, and says when it does not know."""

from dataclasses import replace

import numpy as np
import pytest
from made_tables import make_scene
from reference import select_segments
from segvote.method.hypotheses import select_seeded, walk_from_labels
from sklearn.utils.estimator_checks import parametrize_with_checks

from segvote.errors import BadInputError
from segvote.method import Geometry, SegmentAnnotator


def fit(scene, **options):
    X, y, images, geometry, _ = scene
    parameters = {name: options.pop(name) for name in list(options) if name in SegmentAnnotator().get_params()}
    return SegmentAnnotator(n_neighbors=10, **parameters).fit(X, y, images=images, geometry=geometry, **options)


def measure_overlap(one, other):
    return (one & other).sum() / max((one | other).sum(), 1)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_planted_is_found(seed):
    scene = make_scene(seed=seed)
    annotator = fit(scene)
    assert measure_overlap(annotator.result_.selected, scene[4]) > 0.9
    assert annotator.confidence_.level == "high"
    assert (annotator.result_.uncertainty < 0.5).mean() > 0.9


@pytest.mark.parametrize("noise", [0.15, 0.6, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_fast_code_agrees_with_the_formulas(noise, seed):
    X, y, images, geometry, _ = scene = make_scene(n_images=12, n_segments=10, noise=noise, seed=seed)
    slow = select_segments(X, y, images, geometry, k=10)
    assert np.array_equal(fit(scene, exclude_mislabelled=False).result_.selected, slow)


def test_the_order_of_images_does_not_matter():
    X, y, images, geometry, truth = make_scene(noise=0.5)
    order = np.random.default_rng(1).permutation(24)
    rows = np.concatenate([np.flatnonzero(images == image) for image in order])
    place = np.empty(len(rows), dtype=int)
    place[rows] = np.arange(len(rows))
    edges = place[geometry.edges]
    by_image = np.argsort(edges[:, 0] // 20, kind="stable")
    moved = Geometry(
        geometry.areas[rows],
        geometry.border[rows],
        edges[by_image],
        geometry.lengths[by_image],
        geometry.contrasts[by_image],
    )
    one = fit((X, y, images, geometry, truth), exclude_mislabelled=False)
    other = fit((X[rows], y[rows], np.repeat(order, 20), moved, truth[rows]), exclude_mislabelled=False)
    assert np.array_equal(one.result_.selected[rows], other.result_.selected)
    assert np.allclose(one.result_.scores[rows], other.result_.scores, atol=1e-9)


def test_inputs_are_not_modified():
    scene = make_scene()
    copies = [np.copy(scene[0]), np.copy(scene[3].areas), np.copy(scene[3].contrasts)]
    fit(scene)
    assert all(
        np.array_equal(one, other)
        for one, other in zip(copies, (scene[0], scene[3].areas, scene[3].contrasts), strict=True)
    )


def test_the_explanation_sums_to_the_votes():
    annotator = fit(make_scene(noise=0.6))
    for segment in range(0, 480, 37):
        told = annotator.explain(segment)
        assert np.isclose(told.score, annotator.result_.votes[segment])
        assert np.isclose(told.amounts.sum() + told.constant, told.score)
        assert segment // 20 not in told.bags


def test_smoothing_of_the_votes_gives_the_scores():
    annotator = fit(make_scene(noise=0.6))
    votes = annotator.result_.votes
    for segment in (3, 100, 300):
        beside = annotator.get_adjacent(segment)
        smoothed = 0.6 * votes[segment] + 0.4 * beside.data @ votes[beside.indices]
        assert np.isclose(smoothed, annotator.result_.scores[segment])


def test_what_the_user_says_holds_and_moves_what_is_like_it():
    X, y, images, geometry, truth = make_scene(noise=0.3)
    annotator = fit((X, y, images, geometry, truth))
    labels = np.full(len(X), -1, dtype=np.int8)
    labels[5], labels[9], labels[-1] = 0, 1, 1
    result = annotator.correct(labels)
    assert not result.selected[5] and result.selected[9] and result.selected[-1]
    assert np.array_equal(result.user_labels, labels)
    assert (result.scores[[6, 25]] < annotator.scores_[[6, 25]]).all()  # like the one called background
    assert np.array_equal(annotator.correct(None).selected, annotator.result_.selected)


def test_corrections_can_turn_a_vote_to_another_hypothesis():
    X, y, images, geometry, truth = make_scene(noise=0.3)
    annotator = fit((X, y, images, geometry, truth))
    labels = np.full(len(X), -1, dtype=np.int8)
    labels[truth] = 0  # the user calls all of it background
    turned = annotator.revote(y[::20], labels)
    assert not turned.result_.selected[truth].any()
    assert turned.result_.selected.any()


def fit_wrong():
    """A run called low, whose folders differ by scene, which the vote finds; two labels say what the object is."""
    X, y, images, _, truth = make_scene()
    scene = y & ~truth
    X[scene] = np.eye(X.shape[1])[1] * 3 + 0.15 * np.random.default_rng(1).normal(size=(scene.sum(), X.shape[1]))
    labels = np.full(len(X), -1, dtype=np.int8)
    labels[np.flatnonzero(truth)[0]], labels[np.flatnonzero(scene)[0]] = 1, 0
    # Without a prior, which of the two is found would be a matter of the last digits.
    against = Geometry(prior=np.where(truth, 0.97, 1.0))
    annotator = SegmentAnnotator(n_neighbors=8).fit(X, y, images=images, geometry=against)
    annotator.confidence_ = replace(annotator.confidence_, value=0.1)
    return annotator, labels, truth


def test_two_labels_in_the_vote_turn_it_and_passed_on_alone_they_do_not():
    annotator, labels, truth = fit_wrong()
    assert (annotator.correct(labels).selected == truth).mean() < 0.6
    assert (annotator.teach(labels).correct(labels).selected == truth).mean() > 0.99
    assert annotator.teach(None) is annotator


def test_on_a_run_called_low_the_walk_starts_from_an_object_label():
    annotator, labels, _ = fit_wrong()
    taught = annotator.teach(labels)
    ballot = taught._ballot
    np.testing.assert_array_equal(taught._voting, ballot.revote(select_seeded(ballot, taught.n_steps)))


def test_the_walk_from_labels_is_the_chance_to_meet_an_object_label_first():
    annotator, labels, _ = fit_wrong()
    ballot = annotator.revote(annotator._table.positive, labels)._ballot
    free = np.flatnonzero(ballot.table.is_candidate & (labels < 0))
    votes = ballot.graph.toarray()[free]
    # At the end every free segment has the mean of its neighbours.
    weights = walk_from_labels(ballot, 20_000)
    np.testing.assert_allclose(weights[free], votes @ weights, atol=1e-6)
    assert weights[labels == 1].tolist() == [1.0] and not weights[~ballot.table.is_candidate].any()


def test_a_vote_with_other_labels_is_that_of_a_new_fit():
    X, y, images, geometry, truth = make_scene(noise=0.3)
    other = y.copy()
    other[images == 0] = False
    again = fit((X, y, images, geometry, truth)).revote(other[::20])
    fresh = fit((X, other, images, geometry, truth))
    assert np.array_equal(again.result_.scores, fresh.result_.scores)
    assert np.array_equal(again.result_.selected, fresh.result_.selected)


def test_unseen_segments_are_scored_alike_by_a_restored_annotator():
    X, y, images, geometry, truth = make_scene(noise=0.3)
    annotator = fit((X, y, images, geometry, truth))
    unseen, _, _, _, planted = make_scene(n_images=4, noise=0.3)
    scores = annotator.decision_function(unseen)
    restored = SegmentAnnotator(n_neighbors=10).set_state(X, y, images, annotator.get_state())
    assert np.allclose(restored.decision_function(unseen), scores)
    assert np.array_equal(annotator.predict(unseen), scores > 0)
    assert np.allclose(annotator.predict_proba(unseen).sum(axis=1), 1)
    assert annotator.predict(unseen)[planted].mean() > 0.8


def test_images_in_the_wrong_folder_are_excluded():
    X, y, images, geometry, truth = make_scene(n_images=60, n_segments=10, noise=0.3)
    wrong = y.copy()
    wrong[images < 2] = False
    wrong[images >= 58] = True
    annotator = fit((X, wrong, images, geometry, truth))
    excluded = set(np.flatnonzero(annotator.excluded_))
    assert len(excluded & {0, 1, 58, 59}) >= 3 and len(excluded) <= 5
    assert measure_overlap(annotator.result_.selected & (images < 58), truth & (images >= 2)) > 0.9
    assert not fit((X, wrong, images, geometry, truth), exclude_mislabelled=False).excluded_.any()


def test_shuffled_folders_have_no_confidence():
    X, _, images, geometry, truth = make_scene(n_images=40)
    y = np.random.default_rng(3).permutation(40)[images] < 20
    assert fit((X, y, images, geometry, truth)).confidence_.level == "low"


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_constant_features_end_in_low_confidence(value):
    X, y, images, geometry, truth = make_scene()
    assert fit((np.full_like(X, value), y, images, geometry, truth)).confidence_.level == "low"


def test_one_image_of_each_kind_is_voted_on():
    X, y, images, geometry, truth = make_scene(n_images=2)
    result = fit((X, y, images, geometry, truth)).result_
    assert result.selected[:20].any() and not result.selected[20:].any()


def test_without_geometry_only_the_features_vote():
    X, y, images, _, truth = make_scene()
    found = SegmentAnnotator(n_neighbors=10).fit(X, y, images=images).result_.selected
    assert measure_overlap(found, truth) > 0.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y, images: (np.where(X > 2.9, np.nan, X), y, images), "NaN"),
        (lambda X, y, images: (X, np.ones_like(y), images), "two classes"),
        (lambda X, y, images: (X, y, images[::-1] % 2), "stand together"),
        (lambda X, y, images: (X, y, images[:-1]), "one image id per segment"),
        (lambda X, y, images: (X, np.arange(len(y)) % 2 == 0, images), "share one label"),
    ],
)
def test_bad_input_is_refused(change, message):
    X, y, images, _, _ = make_scene()
    with pytest.raises(ValueError, match=message):
        SegmentAnnotator().fit(*change(X, y, images)[:2], images=change(X, y, images)[2])


@pytest.mark.parametrize(
    ("geometry", "message"),
    [
        (Geometry(areas=np.ones(3)), "expected 480 areas"),
        (Geometry(areas=np.zeros(480)), "above 0"),
        (Geometry(edges=np.array([[0, 480]])), "0 to 479"),
        (Geometry(edges=np.array([[0, 20]])), "one image"),
        (Geometry(prior=np.full(480, 2.0)), "0, 1"),
    ],
)
def test_bad_geometry_is_refused(geometry, message):
    X, y, images, _, _ = make_scene()
    with pytest.raises(BadInputError, match=message):
        SegmentAnnotator().fit(X, y, images=images, geometry=geometry)


@parametrize_with_checks([SegmentAnnotator(n_neighbors=5)])
def test_the_contract_of_scikit_learn_holds(estimator, check):
    check(estimator)
