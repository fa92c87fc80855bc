"""Confidence in a vote: each sign and each cap."""

from dataclasses import replace

import numpy as np
import pytest
from made_tables import hold, make_scene

from segvote.method.confidence import CAUSES, NOT_SHARED, measure_confidence
from segvote.method.permutation import PermutationTest

CLEAR = PermutationTest(0.9, np.zeros(19))


def make_planted(shared=True, n_with=10, n_without=10):
    """Images of ten segments, the first an object in *with* images; the rest the same in all, or in each folder."""
    rng = np.random.default_rng(0)
    images = np.repeat(np.arange(n_with + n_without), 10)
    y = images < n_with
    X = rng.normal(0, 0.1, (len(images), 3))
    X[y & (np.arange(len(images)) % 10 == 0)] += [3, 0, 0]
    if not shared:
        X[~y] += [0, 9, 0]
    return X, y, images, None, None


def hold_planted(**given):
    return hold(make_planted(**given), n_neighbors=8)


def test_the_value_is_the_product_of_the_signs():
    confidence = measure_confidence(hold(make_scene(noise=0.6)))
    signs = confidence.separability, confidence.agreement, confidence.contrast, confidence.power, confidence.shared
    assert confidence.value == pytest.approx(np.prod(signs)) and all(0 <= sign <= 1 for sign in signs)


def test_a_planted_object_is_found_with_high_confidence():
    confidence = measure_confidence(hold_planted())
    assert confidence.level == "high" and confidence.cause == ""
    assert confidence.p_value == pytest.approx(0.05)


def test_a_background_of_its_own_lowers_the_confidence():
    assert measure_confidence(hold_planted(shared=True)).shared == 1
    assert measure_confidence(hold_planted(shared=False)).shared == NOT_SHARED


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_folders_earn_at_most_low(seed):
    X, _, images, geometry, truth = make_scene(n_images=40, n_segments=10)
    y = np.random.default_rng(seed).permutation(40)[images] < 20
    confidence = measure_confidence(hold((X, y, images, geometry, truth)))
    assert confidence.is_low and confidence.cause in CAUSES


@pytest.mark.parametrize(("n_images", "level"), [(2, "low"), (5, "low"), (6, "fair"), (9, "fair"), (10, "high")])
@pytest.mark.parametrize("side", ["n_with", "n_without"])
def test_few_images_cap_the_confidence(side, n_images, level):
    confidence = measure_confidence(hold_planted(**{side: n_images}), CLEAR)
    levels = ("low", "fair", "high")
    assert levels.index(confidence.level) <= levels.index(level)


def test_images_of_one_bag_count_once():
    X, y, images, _, _ = make_planted()
    grouped = hold((X, y, images, None, None), n_neighbors=8, image_bags=np.arange(20) // 2)
    confidence = measure_confidence(grouped, CLEAR)
    assert confidence.is_low and confidence.cause == "few"


def test_what_shuffled_folders_reach_is_low():
    confidence = measure_confidence(hold_planted(), PermutationTest(0.5, np.full(19, 0.6)))
    assert confidence.is_low and confidence.cause == "chance" and confidence.p_value == 1


def test_a_second_vote_that_contradicts_is_not_high():
    confidence = measure_confidence(hold_planted(), CLEAR, contradicted=True)
    assert confidence.level == "fair" and confidence.cause == "scene" and confidence.contradicted


def test_noise_has_no_power():
    rng, images = np.random.default_rng(0), np.repeat(np.arange(40), 8)
    powers = []
    for _ in range(4):
        X = rng.normal(size=(len(images), 6))
        powers.append(measure_confidence(hold((X, images < 20, images, None, None)), CLEAR).power)
    assert np.mean(powers) < 0.25


def test_images_that_are_excluded_count_in_the_power():
    X, y, images, _, _ = make_planted()
    X[150] = [3, 0, 0]  # a *without* image that shows the object
    vote = hold((X, y, images, None, None), n_neighbors=8, exclude_mislabelled=False)
    excluded = replace(vote, diagnostics=replace(vote.diagnostics, excluded=np.arange(20) == 15))
    assert all(measure_confidence(one, CLEAR).power < 1 for one in (vote, excluded))
