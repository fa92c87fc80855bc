"""One path from image to segments and features: a run folder stores what images in memory get."""

import numpy as np
import pytest

from segvote.features import make_features
from segvote.inputs.bags import list_bags
from segvote.io.arrays import read_arrays
from segvote.io.images import read_image
from segvote.pipeline.extract import BagExtractor, extract_image, segment_image
from segvote.pipeline.superpixels import fetch_superpixels
from segvote.run.features import read_features
from segvote.run.run_folder import RunFolder
from segvote.settings import Settings
from segvote.types import WITH

SETTINGS = Settings(features="color", n_segments=30, size=120)


@pytest.mark.parametrize("place", [0, -1], ids=["with", "without"])
def test_files_hold_the_segments_of_images_in_memory(scenes, tmp_path, place):
    bag, run = list_bags(scenes / "with", scenes / "without", SETTINGS)[place], RunFolder(tmp_path)
    features = make_features(SETTINGS.features)
    stored = BagExtractor(run, SETTINGS, features)(bag)
    image = read_image(bag.path)
    found, superpixels = segment_image(SETTINGS, image, image.shape[:2], bag.bag_label == WITH)
    arrays = read_arrays(run.segments_path(stored.segments_key))
    assert arrays.keys() == found.keys()
    assert all(np.array_equal(arrays[name], found[name]) for name in found)
    written = read_features(run.features_path(stored.features_key))
    np.testing.assert_array_equal(written, extract_image(SETTINGS, features, image, found["labels"]))
    assert (superpixels is not None) == (bag.bag_label == WITH)
    if superpixels is not None:
        kept = fetch_superpixels(run, stored.segments_key, found["labels"], bag.path)
        assert all(np.array_equal(array, vars(superpixels)[name]) for name, array in vars(kept).items())
