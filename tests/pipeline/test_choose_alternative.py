"""Another alternative for a finished run: chosen, undone, killed, and followed by every later command."""

import dataclasses
import json
import shutil
from contextlib import closing

import numpy as np
import pytest
from msgspec.structs import replace

import segvote
from segvote.datasets import make_scenes, write_scenes
from segvote.errors import BadInputError
from segvote.pipeline import write_run
from segvote.pipeline.opening import reopen
from segvote.run.correction_log import Action, CorrectionLog, read_actions
from segvote.run.corrections import read_corrections
from segvote.run.record import Inputs
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder

QUICK = segvote.Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})
WRITTEN = ("annotations.coco.json", "masks/**/*.png", "heatmaps/**/*.jpg", "votes/*.npz", "model/*")


@pytest.fixture(scope="module")
def ambiguous(tmp_path_factory):
    """A finished run that has at least three alternatives; only for reading."""
    folder = tmp_path_factory.mktemp("ambiguous")
    write_scenes(folder / "scenes", make_scenes(n_with=8, n_without=8, seed=3, size=(160, 120)))
    run = segvote.annotate(folder / "scenes/with", folder / "scenes/without", folder / "run", QUICK, n_jobs=1)
    assert len(run.alternatives) >= 3
    return run


@pytest.fixture
def copy(ambiguous, tmp_path):
    return shutil.copytree(ambiguous.folder.path, tmp_path / "run")


def read_files(folder):
    paths = [path for pattern in WRITTEN for path in sorted(folder.glob(pattern)) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_the_first_alternative_is_what_the_masks_show(ambiguous):
    first, *others = ambiguous.alternatives
    assert first.letter == "A" and first.is_chosen and not any(one.is_chosen for one in others)
    np.testing.assert_array_equal(first.selected, ambiguous.votes["selected"])
    np.testing.assert_array_equal(first.draw_mask(0), ambiguous.images[0].mask)


def test_a_choice_writes_the_masks_that_were_drawn_for_it(ambiguous, copy):
    wanted = ambiguous.alternatives[2]
    chosen = segvote.choose(copy, "C", n_jobs=1)
    assert chosen.alternative == 2 and chosen.alternatives[2].is_chosen
    np.testing.assert_array_equal(chosen.votes["selected"], wanted.selected)
    assert (wanted.selected != ambiguous.votes["selected"]).any()
    for index in range(4):
        np.testing.assert_array_equal(chosen.images[index].mask, wanted.draw_mask(index))


def test_a_repeated_choice_is_one_action(copy):
    for _ in range(2):
        segvote.choose(copy, 2, n_jobs=1)
    assert [one.kind for one in read_actions(copy / "review.sqlite")] == ["alternative"]


def test_the_default_comes_back_to_the_byte(ambiguous, copy):
    before = read_files(ambiguous.folder.path)
    segvote.choose(copy, "B", n_jobs=1)
    assert read_files(copy) != before
    segvote.choose(copy, "A", n_jobs=1)
    assert read_files(copy) == before


def test_update_and_annotate_follow_a_choice(copy):
    segvote.choose(copy, "B", n_jobs=1)
    written, inputs = read_files(copy), Run(copy).inputs
    for name in ("masks", "votes"):
        shutil.rmtree(copy / name)
    assert segvote.update(copy, n_jobs=1).alternative == 1
    assert read_files(copy) == written
    shutil.rmtree(copy / "masks")
    segvote.annotate(inputs.with_folder, inputs.without_folder, copy, QUICK, n_jobs=1)
    assert read_files(copy) == written


def test_predict_and_explain_follow_a_choice(ambiguous, copy, tmp_path):
    folder = ambiguous.inputs.with_folder
    before = segvote.predict(ambiguous.folder.path, folder, tmp_path / "before", n_jobs=1)
    chosen = segvote.choose(copy, "C", n_jobs=1)
    after = segvote.predict(copy, folder, tmp_path / "after", n_jobs=1)
    assert [one.score for one in before.images] != [one.score for one in after.images]
    segment = int(np.argmax(chosen.votes["scores"][chosen.get_slice(0)]))
    explained = chosen.explain(0)
    assert explained.score == pytest.approx(chosen.votes["scores"][chosen.get_slice(0)][segment])


def test_an_export_has_the_chosen_masks(copy, tmp_path):
    chosen = segvote.choose(copy, "B", n_jobs=1)
    place = segvote.export(copy, "coco", tmp_path / "exported")
    parts = [json.loads(path.read_text())["annotations"] for path in place.rglob("instances_*.json")]
    areas = [one["area"] for part in parts for one in part]  # of single objects
    assert sum(areas) == sum(int(one.mask.sum()) for one in chosen.images) > 0


@pytest.mark.parametrize("which", ["Z", "F?", "0"])
def test_a_letter_that_does_not_exist_changes_nothing(ambiguous, copy, which):
    before = read_files(copy)
    with pytest.raises(BadInputError, match="expected"):
        segvote.choose(copy, which, n_jobs=1)
    assert read_files(copy) == before and read_actions(copy / "review.sqlite") == []


def test_another_voter_has_no_alternatives(ambiguous, tmp_path):
    inputs = ambiguous.inputs
    settings = dataclasses.replace(QUICK, voter="cam", voter_options={})
    run = segvote.annotate(inputs.with_folder, inputs.without_folder, tmp_path / "run", settings, n_jobs=1)
    assert run.alternatives == []
    with pytest.raises(BadInputError, match="only the method, voter ekde, lists them"):
        segvote.choose(run, "B", n_jobs=1)
    assert read_actions(run.folder.corrections_path) == []


def test_a_killed_choice_is_continued(copy, ambiguous, tmp_path, monkeypatch):
    def kill(*_):
        raise KeyboardInterrupt

    expected = read_files(segvote.choose(shutil.copytree(copy, tmp_path / "whole"), "B", n_jobs=1).folder.path)
    with monkeypatch.context() as patched:
        patched.setattr(write_run, "write_pictures", kill)
        with pytest.raises(KeyboardInterrupt):
            segvote.choose(copy, "B", n_jobs=1)
    with pytest.raises(BadInputError, match="not finished"):
        Run(copy)
    segvote.choose(copy, "B", n_jobs=1)
    assert read_files(copy) == expected
    assert [one.kind for one in read_actions(copy / "review.sqlite")] == ["alternative"]


def test_an_undone_choice_is_not_followed(ambiguous, copy):
    segvote.choose(copy, "B", n_jobs=1)
    with closing(CorrectionLog(copy / "review.sqlite")) as log:
        log.append(Action("undo"))
    assert read_corrections(Run(copy).folder).alternative == 0
    segvote.update(copy, n_jobs=1)
    assert read_files(copy) == read_files(ambiguous.folder.path)


def test_an_extent_stays_with_a_choice(copy):
    segvote.set_extent(copy, 4, n_jobs=1)
    chosen = segvote.choose(copy, "B", n_jobs=1)
    assert (chosen.extent, chosen.alternative) == (4, 1)
    again = segvote.set_extent(copy, 2, n_jobs=1)
    assert (again.extent, again.alternative) == (2, 1)
    np.testing.assert_array_equal(again.votes["selected"], again.alternatives[1].selected)


def test_the_vote_before_corrections_stays_the_default(copy):
    segvote.choose(copy, "B", n_jobs=1)
    run = segvote.load_run(copy)
    np.testing.assert_array_equal(run.hold_vote().selection.selected, run.alternatives[0].selected)
    assert reopen(run).corrections.alternative == 1


def test_images_that_are_gone_change_nothing(copy):
    folder = RunFolder(copy)
    folder.write_record(replace(folder.read_record(), inputs=Inputs("/nowhere/with", "/nowhere/without")))
    with pytest.raises(BadInputError, match="found none; tell where they are"):
        segvote.choose(copy, "B", n_jobs=1)
    assert read_actions(copy / "review.sqlite") == []
