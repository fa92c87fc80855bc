import pytest

from segvote.datasets.paper_table import (
    PAPER_CORLOC,
    PAPER_METHODS,
    PAPER_SHOTS,
    get_paper_corloc,
    measure_resolution,
    read_class_figures,
)
from segvote.datasets.youtube_v1 import CLASSES
from segvote.errors import BadInputError, UnknownNameError


def test_the_paper_has_151_shots_of_ten_classes():
    assert sum(PAPER_SHOTS.values()) == 151 and tuple(PAPER_SHOTS) == CLASSES


def test_every_method_has_a_figure_on_both_sets():
    assert all(column.keys() == PAPER_METHODS.keys() for column in PAPER_CORLOC.values())


def test_figures_are_found_by_the_name_of_the_data_set():
    assert get_paper_corloc("pittcar", "eKDE_deep") == 0.73
    assert get_paper_corloc("youtube-objects-v2.2", "CRANE") == get_paper_corloc("jain-grauman", "CRANE") == 0.32
    with pytest.raises(UnknownNameError, match="pittcar, youtube-objects"):
        get_paper_corloc("davis", "eKDE")


def test_one_shot_is_the_smallest_difference():
    assert measure_resolution({"a": 10, "b": 5}) == pytest.approx(0.1)
    assert measure_resolution(PAPER_SHOTS) == pytest.approx(1 / 60)


def test_figures_of_classes_are_read_from_a_table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("class,eKDE,CRANE\ncat,0.5,\ndog,0.25,0.75\n")
    assert read_class_figures(path) == {"cat": {"eKDE": 0.5}, "dog": {"eKDE": 0.25, "CRANE": 0.75}}


@pytest.mark.parametrize("text", ["", "class,other\ncat,1\n", "class,eKDE\ncat,50\n", "class,eKDE\ncat,half\n"])
def test_a_table_that_is_none_is_refused(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(BadInputError, match="expected"):
        read_class_figures(path)
