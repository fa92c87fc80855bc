"""A bound of memory is kept, or refused with what is needed; the answer is the same."""

import os

import pytest
from typer.testing import CliRunner

from segvote.cli.app import load_commands
from segvote.errors import BadInputError, TooLargeError
from segvote.features import make_features
from segvote.kernels import Workspace
from segvote.run.settings import Settings
from segvote.steps.annotate import annotate
from segvote.steps.memory import PER_THREAD, choose_workspace, estimate_need
from segvote.steps.resources import Resources, format_size, make_resources, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GB", 4 * 10**9),
        ("500MB", 5 * 10**8),
        (" 1.5 gb ", 15 * 10**8),
        ("2g", 2 * 10**9),
        ("64kB", 64_000),
        ("123456789", 123_456_789),
        ("77B", 77),
        (10**9, 10**9),
    ],
)
def test_sizes_are_read_as_people_write_them(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "4 apples", "GB", "-4GB", "0", "0MB", "4GiB", "1e9", "nan", "4GB MB"])
def test_what_is_no_size_is_one_clear_line(text):
    with pytest.raises(BadInputError, match="expected a size like 4GB, 500MB or a number of bytes, got"):
        parse_size(text)


@pytest.mark.parametrize("size", [1, 999_999, 10**6, 123_456_789, 10**9, 3_140_000_000])
def test_a_size_that_is_told_is_enough_when_given_back(size):
    assert size <= parse_size(format_size(size)) <= 1.1 * size + 10**6


@pytest.fixture
def need(finished_run):
    bags, settings = finished_run.bags, finished_run.settings
    n_segments = sum(bag.n_segments for bag in bags)
    return estimate_need(settings, n_segments, make_features(settings.features).n_dims)


@pytest.fixture
def made(monkeypatch):
    """Names of the files that arrays were mapped from."""
    names, make_path = [], Workspace.make_path

    def note(self, suffix):
        names.append(make_path(self, suffix))
        return names[-1]

    monkeypatch.setattr(Workspace, "make_path", note)
    return names


def read_results(folder):
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "log.jsonl"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def run_again(run, out, memory):
    inputs = run.record["inputs"]
    annotate(inputs["with"], inputs["without"], out, run.settings, n_jobs=1, memory=memory)
    return read_results(out)


def test_everything_on_disk_gives_the_same_bytes(finished_run, need, made, tmp_path):
    assert run_again(finished_run, tmp_path / "run", need.on_disk) == read_results(finished_run.folder.path)
    # Features, distances, neighbours, votes, their numbers: and none is left.
    assert len(made) >= 5
    assert {path.parent for path in made} == {tmp_path / "run"}
    assert not any(path.exists() for path in made)


def test_what_fits_stays_in_memory(finished_run, need, made, tmp_path):
    assert run_again(finished_run, tmp_path / "run", need.in_memory) == read_results(finished_run.folder.path)
    assert made == []


def test_a_bound_that_cannot_be_met_names_what_is_needed(finished_run, need, tmp_path):
    with pytest.raises(TooLargeError, match=f"needs {format_size(need.on_disk)} of memory, --memory allows 1MB"):
        run_again(finished_run, tmp_path / "run", "1MB")
    assert run_again(finished_run, tmp_path / "run", format_size(need.on_disk))


def test_voters_that_hold_all_in_memory_say_so_and_name_one_that_does_not(tmp_path):
    need = estimate_need(Settings(voter="crane"), 100_000, 472)
    assert need.on_disk == need.in_memory
    with pytest.raises(TooLargeError, match=f"{format_size(need.in_memory)}.* use voter ekde"):
        choose_workspace(tmp_path, Settings(voter="crane"), 100_000, 472, make_resources(memory="500MB"))


def test_a_disk_that_is_too_small_is_named(tmp_path):
    with pytest.raises(TooLargeError, match="of disk for its files"):
        choose_workspace(tmp_path, Settings(), 10**11, 472, make_resources(memory="900TB", parallel_map=map))


def test_others_find_arrays_in_files_whatever_the_memory(tmp_path):
    workspace = choose_workspace(tmp_path, Settings(), 10, 4, Resources(parallel_map=map))
    assert (workspace.folder, workspace.parallel_map) == (tmp_path, map)
    assert choose_workspace(tmp_path, Settings(), 10, 4, Resources()) == Workspace()


def test_more_memory_lets_more_threads_search(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    need = estimate_need(Settings(), 1000, 472)
    for spare, n_threads in ((0, 1), (PER_THREAD, 2), (5 * PER_THREAD + 1, 6)):
        resources = Resources(memory=need.on_disk + spare)
        assert choose_workspace(tmp_path, Settings(), 1000, 472, resources).n_threads == n_threads


def test_more_neighbours_need_more_memory():
    few, many = (estimate_need(Settings(voter_options={"n_neighbors": k}), 10**6, 472) for k in (10, 100))
    assert few.in_memory < many.in_memory and few.files < many.files


def test_a_million_segments_fit_into_six_gigabytes_in_memory_and_into_half_on_disk():
    need = estimate_need(Settings(), 10**6, 472)
    assert need.on_disk < 3 * 10**9 < need.in_memory < 6.1 * 10**9


@pytest.mark.parametrize("command", ["annotate", "update"])
def test_the_command_line_says_what_is_no_size(command, scenes, tmp_path):
    places = [scenes / "with", scenes / "without", "-o", tmp_path / "out"] if command == "annotate" else [tmp_path]
    result = CliRunner().invoke(load_commands(), [command, *map(str, places), "--memory", "much"])
    assert result.exit_code != 0
    assert "expected a size like 4GB" in str(result.exception)
    assert os.listdir(tmp_path) == []


def test_the_bound_of_the_command_line_is_that_of_the_vote(scenes, tmp_path):
    command = ["annotate", str(scenes / "with"), str(scenes / "without"), "-o", str(tmp_path / "out")]
    quick = ["--features", "color", "--n-segments", "40", "--size", "160", "--jobs", "1"]
    result = CliRunner().invoke(load_commands(), [*command, *quick, "--memory", "1MB"])
    assert "--memory allows 1MB. Give more, or fewer segments" in str(result.exception)


def test_more_segments_an_image_need_more_memory_for_their_neighbours():
    usual, many = (estimate_need(Settings(n_segments=n), 10**6, 472) for n in (200, 600))
    assert many.on_disk > usual.on_disk
