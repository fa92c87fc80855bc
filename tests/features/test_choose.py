import numpy as np
import pytest
import skimage.data

from segvote.errors import BadInputError, DamagedFileError, UnknownNameError
from segvote.features import fit_standardiser, make_features

LABELS = np.arange(12).reshape(3, 4).repeat(20, axis=0).repeat(20, axis=1)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"'sift'.*color.*lite0.*\.onnx"):
        make_features("sift")
    with pytest.raises(UnknownNameError, match="'nothing'"):
        make_features("color+nothing")


def test_an_unknown_option_lists_the_known_ones():
    with pytest.raises(BadInputError, match=r"'sizes'.*pooling, size"):
        make_features("lite0", sizes=3)
    with pytest.raises(BadInputError, match="'sizes'"):
        make_features("lite0+color", sizes=3)


def test_a_join_concatenates_blocks():
    joined = make_features("lite0+color", size=64)
    parts = make_features("lite0", size=64), make_features("color")
    image = skimage.data.chelsea()
    expected = np.hstack([part.extract(image, LABELS) for part in parts])
    np.testing.assert_array_equal(joined.extract(image, LABELS), expected)
    assert joined.blocks == parts[0].blocks + parts[1].blocks
    assert joined.n_dims == expected.shape[1]
    assert joined.standardise == (True, True, True, False)
    fitted = fit_standardiser([expected], joined.blocks, joined.standardise)
    np.testing.assert_allclose(np.linalg.norm(fitted.apply(expected), axis=1), 2, rtol=1e-5)


def test_a_join_keeps_and_takes_the_state_of_its_parts():
    joined, again = (make_features("color+bow", n_words=4, size=40) for _ in range(2))
    image = skimage.data.chelsea()
    again.set_state(joined.fit([image], np.random.default_rng(0)).get_state())
    np.testing.assert_array_equal(again.extract(image, LABELS), joined.extract(image, LABELS))


def test_a_state_for_an_extractor_that_learns_nothing_is_refused():
    make_features("color").set_state({})
    with pytest.raises(DamagedFileError, match="learns nothing"):
        make_features("color").set_state({"words": np.zeros(3)})
