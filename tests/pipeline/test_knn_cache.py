import numpy as np
import pytest

from segvote import annotate
from segvote.io.arrays import read_arrays, write_arrays
from segvote.numerics import search_neighbours
from segvote.pipeline.corrected_vote import vote
from segvote.pipeline.opening import reopen
from segvote.run.run import Run


@pytest.fixture
def run(run_copy):
    return Run(run_copy)


@pytest.fixture
def searched(monkeypatch):
    """Collects the searches of the steps alone: a second vote of the method searches on stretched features."""
    searches = []

    def search(*given):
        searches.append(1)
        return search_neighbours(*given)

    monkeypatch.setattr("segvote.pipeline.vote.search_neighbours", search)
    return searches


def test_a_run_is_voted_on_again_without_a_search_and_to_the_bit(run, searched):
    selection = vote(reopen(run)).selection
    np.testing.assert_array_equal(selection.scores, run.votes["scores"])
    np.testing.assert_array_equal(selection.unsmoothed, run.votes["votes"])
    assert not searched


def test_a_run_without_the_file_is_searched_once(run, searched):
    path = run.folder.neighbours_path
    kept = path.read_bytes()
    path.unlink()
    vote(reopen(run))
    assert not path.exists() and len(searched) == 1
    vote(reopen(run), keep=True)
    assert path.read_bytes() == kept and len(searched) == 2
    vote(reopen(run), keep=True)
    assert len(searched) == 2


def test_neighbours_of_other_settings_are_not_used(run, scenes, searched):
    other = {"features": "color", "n_segments": 40, "size": 160, "voter_options": {"n_neighbors": 9}}
    annotate(scenes / "with", scenes / "without", run.folder.path, type(run.settings)(**other), n_jobs=1)
    assert searched


@pytest.mark.parametrize("indices", [np.uint8(254), np.int32(0), np.float64(0)])
def test_a_damaged_file_is_not_used(run, indices, searched):
    path = run.folder.neighbours_path
    arrays = read_arrays(path)
    arrays["indices"] = np.full_like(arrays["indices"], indices, dtype=type(indices))
    write_arrays(path, **arrays)
    np.testing.assert_array_equal(vote(reopen(run)).selection.scores, run.votes["scores"])
    path.write_bytes(path.read_bytes()[:-9])
    np.testing.assert_array_equal(vote(reopen(run)).selection.scores, run.votes["scores"])
    assert len(searched) == 2
