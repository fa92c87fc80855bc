"""Arrays in files are arrays: the same numbers, gone with the last who looks at them."""

import gc
import os
import pickle

import faiss
import numpy as np
import pytest

from segvote.errors import UnwritableFileError
from segvote.io.atomic import is_leftover
from segvote.kernels import (
    Workspace,
    approximate,
    build_vote_graph,
    neighbours,
    search_with_recall,
)
from segvote.kernels import workspace as workspace_module
from segvote.kernels.workspace import SharedArray


@pytest.fixture
def clustered():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 150))[rng.integers(40, size=3000)] + 0.3 * rng.normal(size=(3000, 150))
    return X.astype(np.float32), np.arange(3000) // 20


def carry(target):
    return pickle.loads(pickle.dumps(target))  # noqa: S301 (our own)


def send(function, items):
    """Others, as far as they differ from threads: everything goes there and back as bytes."""
    there = carry(function)
    return (carry(there(item)) for item in items)


def list_workspaces(folder):
    return {"files": Workspace(folder), "others": Workspace(folder, send)}


def test_an_array_in_a_file_is_an_array_until_nobody_looks(tmp_path):
    array = Workspace(tmp_path).make_array((3, 4), np.float32)
    array[:] = 7
    part = array[1:]
    del array
    gc.collect()
    assert len(os.listdir(tmp_path)) == 1 and part.sum() == 56
    del part
    gc.collect()
    assert os.listdir(tmp_path) == []


def test_what_a_killed_process_leaves_is_removed_by_the_next_run(tmp_path):
    assert is_leftover(Workspace(tmp_path).make_path(".npy").name)


def test_without_a_folder_arrays_are_in_memory():
    assert Workspace().make_array((2,), np.int8).base is None


def test_a_full_disk_is_an_error_and_not_a_crash(tmp_path, monkeypatch):
    def fail(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(workspace_module, "_reserve", fail)
    with pytest.raises(UnwritableFileError, match=r"No space left.*more --memory"):
        Workspace(tmp_path).make_array((3,), np.float64)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("part", [slice(None), slice(1, None), slice(None, -1)])
def test_others_see_a_shared_array_whole_or_in_part(part, tmp_path):
    workspace = Workspace(tmp_path, send)
    array = workspace.make_array((5, 3), np.float64)
    array[:] = np.arange(15).reshape(5, 3)
    shared = workspace.share(array[part])
    seen = carry(shared)
    np.testing.assert_array_equal(seen.array, array[part])
    # What lies in a file already is not written to another.
    assert np.shares_memory(shared.array, array) == (part == slice(None))


def test_what_is_in_memory_is_copied_for_others_only(tmp_path):
    array = np.arange(4)
    assert Workspace(tmp_path).share(array).array is array
    np.testing.assert_array_equal(carry(Workspace(tmp_path, send).share(array)).array, array)
    assert isinstance(Workspace().share(array), SharedArray)


@pytest.mark.parametrize("where", ["files", "others"])
@pytest.mark.parametrize("pairs", [0, np.inf], ids=["approximate", "exact"])
def test_a_search_in_files_or_by_others_finds_the_same_to_the_last_bit(where, pairs, clustered, tmp_path, monkeypatch):
    X, bags = clustered
    monkeypatch.setattr(neighbours, "EXACT_PAIRS", pairs)
    monkeypatch.setattr(approximate, "QUERIES_AT_ONCE", 700)
    monkeypatch.setattr(neighbours, "QUERIES_PER_BLOCK", 700)
    here = search_with_recall(X, X, 10, bags, bags)
    workspace = list_workspaces(tmp_path)[where]
    there = search_with_recall(X, X, 10, bags, bags, workspace)
    graph = build_vote_graph(*there[:2], len(X), workspace)
    assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))
    expected = build_vote_graph(*here[:2], len(X))
    for name in ("data", "indices", "indptr"):
        assert getattr(graph, name).tobytes() == getattr(expected, name).tobytes()
    assert (
        workspace_module._find_file(there[0])
        and workspace_module._find_file(graph.data)
        and workspace_module._find_file(graph.indices)
    )
    del there, graph
    gc.collect()
    assert os.listdir(tmp_path) == []


def test_the_number_of_threads_changes_no_neighbour(clustered, monkeypatch):
    X, bags = clustered
    monkeypatch.setattr(approximate, "QUERIES_AT_ONCE", 500)
    many = approximate.search_approximately(X, X, 10, bags, bags, 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    one = approximate.search_approximately(X, X, 10, bags, bags, 0)
    assert all(np.array_equal(a, b) for a, b in zip(many, one, strict=True))


@pytest.mark.parametrize("n_dims", [20, 240])
def test_an_estimate_covers_the_lists(n_dims, clustered):
    X = np.ascontiguousarray(np.tile(clustered[0], 2)[:, :n_dims])
    made = faiss.serialize_index(approximate._Lists.make(X).index)
    on_disk, held = approximate.estimate_lists(*X.shape)
    assert on_disk == 0
    assert made.nbytes <= held
