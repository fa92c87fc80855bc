import shutil

import numpy as np
import pytest

from segvote.kernels import Neighbours
from segvote.run.run import Run
from segvote.steps.knn_cache import name_neighbours, read_neighbours
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


@pytest.mark.parametrize("place", [0.5])
def test_a_damaged_file_is_as_good_as_none(run, path, place):
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 0xFF
    path.write_bytes(bytes(content))
    assert read(run) is None
    np.testing.assert_array_equal(vote(reopen(run)).result.scores, run.votes["scores"])
