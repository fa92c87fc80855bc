"""What a run says of itself, sign by sign."""

import numpy as np
import pytest

from segvote import Geometry, SegmentAnnotator
from segvote.method.confidence import NOT_SHARED, _measure_power


def test_a_background_that_no_without_image_shows_lowers_the_confidence():
    X, y, images = make_scene_sets(shared=True)
    same = SegmentAnnotator(n_neighbors=8).fit(X, y, images=images).confidence_
    X, y, images = make_scene_sets(shared=False)
    other = SegmentAnnotator(n_neighbors=8).fit(X, y, images=images).confidence_
    assert same.shared == 1
    assert other.shared == NOT_SHARED


def make_scene_sets(shared: bool):
    """Twenty images of ten segments, the first an object in half of them; the rest alike in all, or in each folder."""
    rng = np.random.default_rng(0)
    images = np.repeat(np.arange(20), 10)
    y, first = images < 10, np.arange(200) % 10 == 0
    X = rng.normal(0, 0.1, (200, 3))
    X[y & first] += [3, 0, 0]
    if not shared:
        X[~y] += [0, 9, 0]
    return X, y, images


def test_images_that_are_excluded_do_not_lower_the_power():
    X, y, images = make_scene_sets(shared=True)
    annotator = SegmentAnnotator(n_neighbors=8).fit(X, y, images=images)
    scores = np.where(y & (np.arange(200) % 10 == 0), 1.0, 0.0)
    scores[150] = 2.0  # a *without* image that shows the object
    misfiled = images == 15
    assert _measure_power(annotator._table, scores, np.zeros(200, dtype=bool)) < 1
    assert _measure_power(annotator._table, scores, misfiled) == 1


@pytest.mark.parametrize(
    ("n_with", "levels"), [(2, {"low"}), (3, {"low", "fair"}), (4, {"low", "fair"}), (10, {"high"})]
)
def test_few_bags_without_outlines_cannot_prove_that_they_share_an_object(n_with, levels):
    """Adjacent segments whose colours nobody knows are those of videos."""
    X, y, images = make_scene_sets(shared=True)
    kept = (images < n_with) | ~y
    edges = np.array([(segment, segment + 1) for segment in range(kept.sum() - 1) if (segment + 1) % 10])
    numbers = np.unique(images[kept], return_inverse=True)[1]
    annotator = SegmentAnnotator(n_neighbors=8)
    found = annotator.fit(X[kept], y[kept], images=numbers, geometry=Geometry(edges=edges)).confidence_
    assert found.level in levels
    assert found.cause == ("" if "high" in levels else "few")
