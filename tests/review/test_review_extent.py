"""The extent of the masks on the review page: one choice for all images, or for one."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from waiting import wait_for

from segvote import annotate, update
from segvote.errors import BadInputError
from segvote.method.extents import N_EXTENTS
from segvote.pipeline.extent import change_extent, read_selection
from segvote.review.engine import Engine
from segvote.review.finishing import export_run
from segvote.run.correction_log import read_actions
from segvote.run.run import Run


@pytest.fixture
def engine(run):
    engine = Engine(run)
    engine.start()
    wait_for(engine, 0)
    yield engine
    engine.stop()


def decide(run, extent):
    return read_selection(run, np.broadcast_to(extent, len(run)), None).selected


def read_files(folder):
    names = ["annotations.coco.json", "masks", "heatmaps", "votes/votes.npz"]
    paths = [path for name in names for path in [folder / name, *sorted((folder / name).glob("*"))] if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_a_choice_changes_the_masks_of_all_images(engine):
    for extent in (1, 3, N_EXTENTS):
        after = wait_for(engine, engine.actions.choose_extent(extent))
        np.testing.assert_array_equal(after.selected, decide(engine.run, extent))


def test_a_choice_holds_no_new_vote(engine, monkeypatch):
    monkeypatch.setattr("segvote.review.voting.apply_corrections", lambda *_: pytest.fail("voted again"))
    after = wait_for(engine, engine.actions.choose_extent(4))
    np.testing.assert_array_equal(after.selected, decide(engine.run, 4))


def test_a_choice_for_one_image_leaves_the_others(engine):
    first = engine.board.snapshot.selected.copy()
    after = wait_for(engine, engine.actions.choose_extent(N_EXTENTS, [1]))
    part = after.get_slice(1)
    np.testing.assert_array_equal(after.selected[part], decide(engine.run, N_EXTENTS)[part])
    first[part] = after.selected[part]
    np.testing.assert_array_equal(after.selected, first)


@pytest.mark.parametrize("extent", [0, N_EXTENTS + 1])
def test_an_extent_that_does_not_exist_is_refused(engine, extent):
    with pytest.raises(BadInputError, match=f"from 1 .tightest. to {N_EXTENTS} .widest.; got {extent}"):
        engine.actions.choose_extent(extent)
    assert read_actions(engine.run.folder.corrections_path) == []


def test_page_command_and_annotate_write_the_same(run, engine, run_copy, finished_run, tmp_path):
    wait_for(engine, engine.actions.choose_extent(4))
    wait_for(engine, engine.actions.choose_extent(1, [2]))
    export_run(engine.settle())
    written = read_files(run_copy)
    assert Run(run_copy).extent == 4
    by_command = Path(shutil.copytree(finished_run.folder.path, tmp_path / "command"))
    change_extent(by_command, 4)
    change_extent(by_command, 1, run.bags[2].name)
    assert read_files(by_command) == written
    inputs = Run(by_command).inputs
    for name in ("masks", "votes", "model"):
        shutil.rmtree(by_command / name)
    annotate(inputs.with_folder, inputs.without_folder, by_command, run.settings)
    assert read_files(by_command) == written
    update(by_command)
    assert read_files(by_command) == written
