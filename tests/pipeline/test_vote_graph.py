import shutil

import numpy as np
import pytest

from segvote.io.arrays import read_arrays, write_arrays
from segvote.pipeline.reopening import list_described, reopen, vote
from segvote.pipeline.run import Run
from segvote.pipeline.vote_graph import keep_graph, name_graph, read_graph
from segvote.voting.ekde import EKDE


@pytest.fixture
def run(finished_run, tmp_path):
    shutil.copytree(finished_run.folder.path, tmp_path / "run")
    return Run(tmp_path / "run")


@pytest.fixture
def path(run):
    return run.folder.votes_path.with_name("graph.npz")


def read(run, **other):
    name = other.get("name") or name_graph(run.settings, list_described(run))
    return read_graph(run.folder, name, other.get("n_segments", int(run.offsets[-1])))


def forbid_search(monkeypatch):
    def search(self, segments):
        raise AssertionError("searched again")

    monkeypatch.setattr(EKDE, "_search", search)


def test_a_run_is_voted_on_again_without_a_search_and_to_the_bit(run, monkeypatch):
    forbid_search(monkeypatch)
    voted = vote(reopen(run))
    np.testing.assert_array_equal(voted.verdict.scores, run.votes["scores"])
    np.testing.assert_array_equal(voted.verdict.votes, run.votes["votes"])


def test_a_run_without_the_file_is_searched_once(run, path, monkeypatch):
    kept = path.read_bytes()
    path.unlink()
    vote(reopen(run))
    assert not path.exists()
    vote(reopen(run), keep=True)
    assert path.read_bytes() == kept
    forbid_search(monkeypatch)
    vote(reopen(run), keep=True)


def test_the_graph_of_other_settings_or_segments_is_not_taken(run):
    assert read(run) is not None
    assert read(run, name="another") is None
    assert read(run, n_segments=int(run.offsets[-1]) + 1) is None


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_damaged_file_is_as_good_as_none(run, path, place):
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 0xFF
    path.write_bytes(bytes(content))
    assert read(run) is None
    np.testing.assert_array_equal(vote(reopen(run)).verdict.scores, run.votes["scores"])


def make_wrong(arrays, what):
    wrong = {name: array.copy() for name, array in arrays.items()}
    if what == "segment beyond the last":
        wrong["indices"][3] = len(arrays["indptr"])
    elif what == "segment below zero":
        wrong["indices"][3] = -1
    elif what == "rows out of order":
        wrong["indptr"][1] = len(arrays["data"]) + 5
    elif what == "no number":
        wrong["data"][0] = np.nan
    elif what == "other kind":
        wrong["data"] = wrong["data"].astype(np.float32)
    else:
        del wrong["recall"]
    return wrong


@pytest.mark.parametrize(
    "what",
    ["segment beyond the last", "segment below zero", "rows out of order", "no number", "other kind", "no recall"],
)
def test_a_file_whose_numbers_do_not_fit_is_not_taken(run, path, what):
    write_arrays(path, **make_wrong(read_arrays(path), what))
    assert read(run) is None


def test_a_voter_that_keeps_no_votes_stores_nothing(run, path):
    path.unlink()
    keep_graph(run.folder, "name", object())
    assert not path.exists()
