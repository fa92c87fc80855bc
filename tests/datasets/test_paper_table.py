import pytest

from segvote.datasets.paper_table import (
    COLUMNS,
    MEAN,
    PAPER_METHODS,
    PAPER_SHOTS,
    PAPER_TABLE,
    find_paper_corloc,
    measure_resolution,
)


@pytest.mark.parametrize("method", PAPER_METHODS)
def test_the_printed_mean_is_that_of_the_classes(method):
    classes = [find_paper_corloc("youtube-objects-v1", name, method) for name in PAPER_SHOTS]
    assert sum(classes) / 10 == pytest.approx(PAPER_TABLE[method][COLUMNS.index(MEAN)], abs=0.0051)


@pytest.mark.parametrize("name", ["youtube-objects-v2.2", "jain-grauman"])
def test_each_class_has_its_own_figure(name):
    assert find_paper_corloc(name, "bird", "eKDE") == 0.83
    assert find_paper_corloc(name, "train", "eKDE") == 0.17
    assert find_paper_corloc(name, "zebra", "eKDE") is None


def test_pittcar_has_one_column_and_other_sets_have_none():
    assert find_paper_corloc("pittcar", "car", "eKDE_deep") == 0.73
    assert find_paper_corloc("davis", "car", "eKDE") is None


def test_one_shot_is_the_smallest_difference():
    assert measure_resolution({"a": 10, "b": 5}) == pytest.approx(0.1)
    assert measure_resolution(PAPER_SHOTS) == pytest.approx(1 / 60)
