"""`SegmentAnnotator` is the vote behind scikit-learn's interface."""

import numpy as np
import pytest
from made_tables import hold, label, make_scene, tabulate
from sklearn.utils.estimator_checks import parametrize_with_checks

from segvote.errors import BadInputError
from segvote.method.correct import correct_vote
from segvote.method.estimator import SegmentAnnotator
from segvote.method.extents import find_extents
from segvote.method.graph import search_graph
from segvote.method.hypotheses import VoteParams
from segvote.method.whole_vote import vote_and_judge


def fit(scene, y=None, **options):
    X, labels, images, geometry, _ = scene
    parameters = {name: options.pop(name) for name in list(options) if name in SegmentAnnotator().get_params()}
    annotator = SegmentAnnotator(**{"n_neighbors": 10, **parameters})
    return annotator.fit(X, labels if y is None else y, images=images, geometry=geometry, **options)


@pytest.fixture(scope="module")
def scene():
    return make_scene(noise=0.3)


@pytest.fixture(scope="module")
def annotator(scene):
    return fit(scene)


@parametrize_with_checks([SegmentAnnotator(n_neighbors=5)])
def test_the_contract_of_scikit_learn_holds(estimator, check):
    check(estimator)


def test_the_estimator_holds_the_vote_of_the_functions(scene, annotator):
    vote = hold(scene)
    assert np.array_equal(annotator.vote_.selection.scores, vote.selection.scores)
    assert np.array_equal(annotator.vote_.selection.selected, vote.selection.selected)
    extents = find_extents(vote.table, vote.selection, vote.electorate.graph)
    assert np.array_equal(annotator.extents_.first_extents, extents.first_extents)


def test_the_estimator_lists_the_alternatives_of_the_vote():
    scene = make_scene(noise=0.6)
    alternatives, _ = vote_and_judge(tabulate(scene), search_graph(tabulate(scene), 10), VoteParams(n_neighbors=10))
    listed = fit(scene).alternatives_
    assert len(listed) == len(alternatives) > 1
    for one, other in zip(listed, alternatives, strict=True):
        assert np.array_equal(one.selection.selected, other.selection.selected)


def test_corrections_are_those_of_the_functions(scene):
    annotator, labels = fit(scene), label(480, objects=[9, 479], background=[5])
    base = annotator.vote_
    corrected = annotator.correct(labels).vote_.selection
    refitted, correction = correct_vote(base, labels)
    expected = correction.selection
    assert np.array_equal(corrected.scores, expected.scores)
    assert corrected.selected[[9, 479]].all() and not corrected.selected[5]
    extents = find_extents(base.table, expected, refitted.electorate.graph)
    assert np.array_equal(annotator.extents_.first_extents, extents.first_extents)
    assert np.array_equal(fit(scene, user_labels=labels).vote_.selection.scores, expected.scores)
    assert np.array_equal(annotator.correct(None).vote_.selection.scores, base.selection.scores)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"n_steps": 0}, "n_steps"),
        ({"smoothing": 7}, "smoothing"),
        ({"border_prior": -5}, "border_prior"),
        ({"border_prior": 0.0}, "border_prior"),
        ({"decision": "median"}, "decision"),
        ({"allow_empty": "yes"}, "allow_empty"),
        ({"pos_label": 0.5}, "pos_label"),
    ],
)
def test_parameters_out_of_range_are_rejected(scene, options, message):
    with pytest.raises(ValueError, match=message):
        fit(scene, **options)


def test_two_strings_need_a_positive_label(scene, annotator):
    y = np.where(scene[1], "cat", "dog")
    with pytest.raises(BadInputError, match="pos_label"):
        fit(scene, y)
    named = fit(scene, y, pos_label="cat")
    assert named.classes_.tolist() == ["dog", "cat"]
    assert np.array_equal(named.vote_.selection.scores, annotator.vote_.selection.scores)
    assert set(named.predict(scene[0])) == {"cat", "dog"}


def test_predictions_are_signs_of_the_scores(scene, annotator):
    unseen, _, _, _, planted = make_scene(n_images=4, noise=0.3)
    scores = annotator.decision_function(unseen)
    assert np.array_equal(annotator.predict(unseen), scores > 0)
    assert annotator.predict(unseen)[planted].mean() > 0.8


def test_probabilities_are_on_the_scale_of_the_weights(scene):
    annotator = fit(scene, smoothing=0.0)
    X, y, images, _, _ = scene
    scores = annotator.decision_function(X, images=images)
    assert np.allclose(scores, annotator.vote_.selection.scores, atol=1e-5)
    proba = annotator.predict_proba(X)
    assert np.allclose(proba.sum(axis=1), 1)
    assert np.array_equal(proba[:, 1], annotator.vote_.scorer.compute_soft_labels(annotator.decision_function(X)))
    assert np.allclose(annotator.vote_.scorer.compute_soft_labels(scores)[y], annotator.vote_.weights[y], atol=1e-4)


def test_training_images_do_not_vote_for_themselves():
    X, _, images, _, _ = scene = make_scene(noise=1.0)
    annotator = fit(scene)
    assert np.allclose(annotator.decision_function(X, images=images), annotator.vote_.selection.unsmoothed, atol=1e-5)
    assert not np.allclose(annotator.decision_function(X), annotator.vote_.selection.unsmoothed, atol=1e-5)
    unknown = np.full(len(X), 99)
    assert np.array_equal(annotator.decision_function(X, images=unknown), annotator.decision_function(X))


def test_image_ids_may_be_names(scene, annotator):
    X, y, images, geometry, _ = scene
    names = np.array([f"image {number}" for number in range(24)])[images]
    named = SegmentAnnotator(n_neighbors=10).fit(X, y, images=names, geometry=geometry)
    assert np.array_equal(named.vote_.selection.scores, annotator.vote_.selection.scores)
    assert np.allclose(named.decision_function(X, images=names), named.vote_.selection.unsmoothed, atol=1e-5)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_constant_features_end_in_low_confidence(scene, value):
    X, *rest = scene
    assert fit((np.full_like(X, value), *rest)).confidence_.is_low


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
def test_bad_input_is_rejected(scene, change, message):
    X, y, images = change(*scene[:3])
    with pytest.raises(ValueError, match=message):
        SegmentAnnotator().fit(X, y, images=images)
