import shutil
from dataclasses import replace

import numpy as np
import pytest

from segvote.io.arrays import read_arrays, write_arrays
from segvote.kernels import Neighbours
from segvote.run.run import Run
from segvote.steps.knn_cache import fetch_neighbours, name_neighbours, read_neighbours
from segvote.steps.reopening import list_segmented_images, reopen, vote


@pytest.fixture
def run(finished_run, tmp_path):
    shutil.copytree(finished_run.folder.path, tmp_path / "run")
    return Run(tmp_path / "run")


@pytest.fixture
def path(run):
    return run.folder.votes_path.with_name("neighbours.npz")


def read(run, **other):
    name = other.get("name") or name_neighbours(
        run.settings, list_segmented_images(run), run.settings.voter_options["n_neighbors"]
    )
    return read_neighbours(run.folder, name, other.get("n_segments", int(run.offsets[-1])))


class KnownNeighbours(Neighbours):
    @classmethod
    def search(cls, *arguments):
        raise AssertionError("searched again")


def forbid_search(monkeypatch):
    # Of the steps alone: a second vote of the method searches its own neighbours, on stretched features.
    monkeypatch.setattr("segvote.steps.knn_cache.Neighbours", KnownNeighbours)
    monkeypatch.setattr("segvote.steps.vote.Neighbours", KnownNeighbours)


def test_a_run_is_voted_on_again_without_a_search_and_to_the_bit(run, monkeypatch):
    forbid_search(monkeypatch)
    voted = vote(reopen(run))
    np.testing.assert_array_equal(voted.result.scores, run.votes["scores"])
    np.testing.assert_array_equal(voted.result.votes, run.votes["votes"])


def test_a_run_without_the_file_is_searched_once(run, path, monkeypatch):
    kept = path.read_bytes()
    path.unlink()
    vote(reopen(run))
    assert not path.exists()
    vote(reopen(run), keep=True)
    assert path.read_bytes() == kept
    forbid_search(monkeypatch)
    vote(reopen(run), keep=True)


def test_neighbours_of_other_settings_are_not_taken(run):
    assert read(run) is not None
    assert read(run, name="another") is None
    assert read(run, n_segments=int(run.offsets[-1]) + 1) is None


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_damaged_file_is_as_good_as_none(run, path, place):
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 0xFF
    path.write_bytes(bytes(content))
    assert read(run) is None
    np.testing.assert_array_equal(vote(reopen(run)).result.scores, run.votes["scores"])


def make_wrong(arrays, what):
    wrong = {name: array.copy() for name, array in arrays.items()}
    if what == "segment beyond the last":
        wrong["indices"][3, 0] = len(arrays["indices"])
    elif what == "segment below zero":
        wrong["indices"][3, 0] = -2
    elif what == "no number":
        wrong["squared"][0, 0] = np.nan
    elif what == "other kind":
        wrong["squared"] = wrong["squared"].astype(np.float32)
    else:
        del wrong["recall"]
    return wrong


@pytest.mark.parametrize(
    "what",
    ["segment beyond the last", "segment below zero", "no number", "other kind", "no recall"],
)
def test_a_file_whose_numbers_do_not_fit_is_not_taken(run, path, what):
    write_arrays(path, **make_wrong(read_arrays(path), what))
    assert read(run) is None


def test_for_a_voter_that_asks_for_none_nothing_is_stored(run, path):
    path.unlink()
    opened, settings = reopen(run), replace(run.settings, voter="f-neg", voter_options={})
    assert fetch_neighbours(run.folder, opened.bags, opened.table, settings) is None
    assert not path.exists()


def test_that_there_are_fewer_neighbours_is_remembered(run):
    opened, settings = reopen(run), replace(run.settings, voter_options={"n_neighbors": 5000})
    searched = fetch_neighbours(run.folder, opened.bags, opened.table, settings)
    known = fetch_neighbours(run.folder, opened.bags, opened.table, settings, keep=False)
    assert (searched.indices < 0).any()
    np.testing.assert_array_equal(known.indices, searched.indices)
    np.testing.assert_array_equal(known.squared, searched.squared)


def test_other_lengths_have_other_neighbours(run):
    opened, settings = reopen(run), replace(run.settings, voter="negmin", voter_options={})
    known = fetch_neighbours(run.folder, opened.bags, opened.table, run.settings)
    n_asked = run.settings.voter_options["n_neighbors"]
    names = {name_neighbours(one, opened.bags, n_asked) for one in (run.settings, settings)}
    assert known is not None and len(names) == 2
