"""The alternatives of a vote in a run folder, and their letters."""

import numpy as np
import pytest

from segvote.errors import BadInputError, DamagedFileError
from segvote.io.arrays import read_arrays, write_arrays
from segvote.run.alternatives import (
    NO_ALTERNATIVES,
    Alternatives,
    check_alternative,
    name_alternative,
    parse_alternative,
    read_alternatives,
    write_alternatives,
)
from segvote.run.run import Run


@pytest.fixture
def run(run_copy):
    return Run(run_copy)


def make_alternatives(run, n_alternatives=3):
    rng, n_segments = np.random.default_rng(0), int(run.offsets[-1])
    scores = rng.normal(size=(n_alternatives, n_segments))
    thresholds = rng.normal(size=(n_alternatives, len(run)))
    return Alternatives(scores > 0, scores, thresholds, rng.random(n_alternatives))


def test_the_order_of_the_arrays_is_that_of_their_names(run):
    write_alternatives(run.folder, make_alternatives(run))
    assert list(read_arrays(run.folder.alternatives_path)) == ["selected", "scores", "support", "thresholds"]


def test_alternatives_are_read_as_they_were_written(run):
    written = make_alternatives(run)
    write_alternatives(run.folder, written)
    read = read_alternatives(run)
    assert len(read) == 3
    for name, array in vars(written).items():
        np.testing.assert_array_equal(getattr(read, name), array)


def test_arrays_stand_in_the_file_in_a_fixed_order(run):
    write_alternatives(run.folder, make_alternatives(run))
    assert list(read_arrays(run.folder.alternatives_path)) == ["selected", "scores", "support", "thresholds"]


def test_no_alternatives_delete_those_of_an_earlier_vote(run):
    write_alternatives(run.folder, make_alternatives(run))
    write_alternatives(run.folder, NO_ALTERNATIVES)
    assert not run.folder.alternatives_path.exists() and len(read_alternatives(run)) == 0


@pytest.mark.parametrize("name", ["selected", "scores", "thresholds", "support"])
def test_arrays_of_another_run_are_refused(run, name):
    write_alternatives(run.folder, make_alternatives(run))
    arrays = read_arrays(run.folder.alternatives_path)
    write_arrays(run.folder.alternatives_path, **{**arrays, name: arrays[name][..., :-1]})
    with pytest.raises(DamagedFileError, match=r"alternatives\.npz"):
        read_alternatives(run)


@pytest.mark.parametrize(("which", "number"), [("A", 0), ("c", 2), (" F ", 5), (1, 0), ("3", 2)])
def test_an_alternative_has_a_letter_and_a_place(which, number):
    assert parse_alternative(which) == number
    assert parse_alternative(name_alternative(number)) == number


@pytest.mark.parametrize("which", ["", "AB", "0", "-1", "é", "2.5", "27"])
def test_other_names_are_refused(which):
    with pytest.raises(BadInputError, match="expected the letter of an alternative, such as B"):
        parse_alternative(which)


@pytest.mark.parametrize(
    ("number", "n_found", "message"),
    [(5, 3, "from A to C; got F"), (1, 1, "no alternatives but A"), (0, 0, "only the method, voter ekde")],
)
def test_a_missing_alternative_has_its_own_message(number, n_found, message):
    with pytest.raises(BadInputError, match=message):
        check_alternative(number, n_found)
