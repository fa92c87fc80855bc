"""What segvote wrote is never read as images, and no output goes into a folder of images."""

import json
import shutil

import pytest

import segvote
from segvote.errors import BadInputError
from segvote.inputs.bags import list_bags, list_unsorted_bags
from segvote.io import EXPORTS
from segvote.settings import Settings

QUICK = Settings(features="color", n_segments=30, size=120)


@pytest.fixture
def own_scenes(scenes, tmp_path):
    for name in ("with", "without"):
        shutil.copytree(scenes / name, tmp_path / name)
    return tmp_path


def test_a_run_inside_its_images_is_refused(own_scenes):
    for out in ("with/out", "without/sub/out", "with"):
        with pytest.raises(BadInputError, match="inside the folder of images"):
            segvote.annotate(own_scenes / "with", own_scenes / "without", own_scenes / out, QUICK, n_jobs=1)
    assert not list(own_scenes.rglob("run.json"))


def test_a_run_on_classes_inside_its_root_is_refused(own_scenes):
    with pytest.raises(BadInputError, match="inside the folder of images"):
        segvote.annotate_classes(own_scenes, own_scenes / "out", QUICK, n_jobs=1)


def test_predictions_inside_their_images_are_refused(own_scenes, finished_run):
    with pytest.raises(BadInputError, match="inside the folder of images"):
        segvote.predict(finished_run.folder.path, own_scenes / "with", own_scenes / "with/new", n_jobs=1)


def test_an_export_inside_the_images_is_refused(finished_run, scenes):
    with pytest.raises(BadInputError, match="inside the folder of images"):
        segvote.export(finished_run, "png", scenes / "with" / "x")
    assert not (scenes / "with" / "x").exists()


@pytest.mark.parametrize("format_", EXPORTS)
def test_pictures_of_an_export_are_no_images(own_scenes, finished_run, tmp_path, format_):
    before = list_unsorted_bags(own_scenes / "with")
    segvote.export(finished_run, format_, tmp_path / "export")
    shutil.move(tmp_path / "export", own_scenes / "with" / "sub")
    assert list_unsorted_bags(own_scenes / "with") == before


def test_pictures_of_a_run_are_no_images(own_scenes, run_copy):
    before = list_bags(own_scenes / "with", own_scenes / "without")
    shutil.move(run_copy, own_scenes / "with" / "sub")
    assert list_bags(own_scenes / "with", own_scenes / "without") == before
    with pytest.raises(BadInputError, match="written by segvote"):
        list_unsorted_bags(own_scenes / "with" / "sub")


def test_pictures_of_predictions_are_no_images(own_scenes, finished_run, tmp_path):
    before = list_unsorted_bags(own_scenes / "with")
    segvote.predict(finished_run.folder.path, own_scenes / "with", tmp_path / "new", n_jobs=1)
    shutil.move(tmp_path / "new", own_scenes / "with" / "new")
    assert list_unsorted_bags(own_scenes / "with") == before


def test_a_record_of_another_program_hides_no_images(own_scenes):
    (own_scenes / "with" / "run.json").write_text(json.dumps({"name": "camera"}))
    assert list_unsorted_bags(own_scenes / "with")
