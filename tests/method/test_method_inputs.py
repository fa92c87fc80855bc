"""What the estimator may be given: labels, image names and user labels, and what it rejects."""

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.method.inputs import check_user_labels, encode_labels, label_images, number_images


@pytest.mark.parametrize(
    ("y", "pos_label", "classes"),
    [
        ([0, 1, 0], None, [0, 1]),
        ([1, -1, 1], None, [-1, 1]),
        ([0, 1, 0], 0, [1, 0]),
        ([True, False, True], None, [False, True]),
        (["without", "with", "with"], None, ["without", "with"]),
        (["cat", "dog", "cat"], "cat", ["dog", "cat"]),
        ([2.0, 5.0, 5.0], None, [2.0, 5.0]),
    ],
)
def test_the_positive_class_comes_last(y, pos_label, classes):
    found, positive = encode_labels(np.array(y), pos_label)
    assert found.tolist() == classes
    assert positive.tolist() == [one == classes[1] for one in y]


@pytest.mark.parametrize(
    ("y", "pos_label", "message"),
    [
        (["cat", "dog"], None, "pos_label"),
        (["cat", "dog"], "cow", r"one of the labels \['cat', 'dog'\]; got 'cow'"),
        ([0, 1, 2], None, "Only binary"),
        ([1, 1], None, "two classes"),
    ],
)
def test_labels_of_no_clear_meaning_are_rejected(y, pos_label, message):
    with pytest.raises(BadInputError, match=message):
        encode_labels(np.array(y), pos_label)


def test_images_are_numbered_in_order_of_appearance():
    names, numbers = number_images(np.array(["b", "b", "a", "c", "c"]))
    assert names.tolist() == ["b", "a", "c"] and numbers.tolist() == [0, 0, 1, 2, 2]
    with pytest.raises(BadInputError, match="stand together"):
        number_images(np.array([0, 1, 0]))


def test_an_image_has_one_label():
    assert label_images(np.array([True, True, False]), np.array([0, 0, 1])).tolist() == [True, False]
    with pytest.raises(BadInputError, match="image 0 has both"):
        label_images(np.array([True, False, False]), np.array([0, 0, 1]))


@pytest.mark.parametrize("labels", [[0, 1], [0, 1, 2], [[0, 1, -1]], [0.5, 0, 1]])
def test_bad_user_labels_are_rejected(labels):
    with pytest.raises(BadInputError, match="user labels must be -1"):
        check_user_labels(np.array(labels), 3)


def test_without_user_labels_all_are_unknown():
    assert check_user_labels(None, 2).tolist() == [-1, -1]
