"""Messages a new user meets: each names the mistake that was made, and what to do."""

import os
import shutil
from types import SimpleNamespace

import pytest
from calling import call

from segvote import annotate_classes
from segvote.cli.annotate import print_outcome
from segvote.run.record import Problem
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})


@pytest.fixture(scope="module")
def classes(scenes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    shutil.copytree(scenes / "with", folder / "in/cup")
    shutil.copytree(scenes / "without", folder / "in/none")
    annotate_classes(folder / "in", folder / "out", QUICK, n_jobs=1)
    return folder / "out"


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("evaluate", ["--truth", "."]),
        ("explain", ["with-000"]),
        ("doctor", []),
        ("update", []),
    ],
)
def test_a_run_on_classes_says_which_folder_to_give(classes, command, more):
    done = call(command, classes, *more)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1] == (
        f"segvote: {classes} is a run on several classes; give the folder of one: {classes / 'classes' / 'cup'}"
    )


def test_missing_folders_are_not_reported_as_a_missing_out():
    done = call("annotate", "photos/with")
    assert done.returncode == 2
    assert done.stderr.startswith("segvote: expected two folders, WITH and WITHOUT")


def test_a_missing_out_is_told_once_the_folders_are_there(scenes):
    done = call("annotate", scenes / "with", scenes / "without")
    assert done.returncode == 2
    assert done.stderr == "segvote: expected a run folder to write to; add -o DIR\n"


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="there is no /dev/null here")
@pytest.mark.parametrize("command", ["annotate", "demo", "export", "predict"])
def test_dev_null_is_refused_in_one_line(scenes, finished_run, command):
    inputs = {
        "demo": [],
        "export": [finished_run.folder.path, "--format", "coco"],
        "predict": [finished_run.folder.path, scenes / "with"],
    }
    done = call(command, *inputs.get(command, [scenes / "with", scenes / "without"]), "-o", "/dev/null")
    assert done.returncode == 2
    assert "/dev/null" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_one_with_image_warns(scenes, tmp_path):
    (tmp_path / "with").mkdir()
    shutil.copy(sorted((scenes / "with").iterdir())[0], tmp_path / "with")
    options = ["--features", "color", "--n-segments", "40", "--size", "160", "--jobs", "1"]
    done = call("annotate", tmp_path / "with", scenes / "without", "-o", tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr
    assert "warning: one *with* image only" in done.stderr


def test_a_stack_of_which_one_page_was_read_is_not_left_out(capsys):
    bag = SimpleNamespace(name="with/a.tif", bag_label="with", excluded=False, n_frames=0)
    record = SimpleNamespace(problems=[Problem("with/a.tif", "one page"), Problem("with/b.tif", "damaged")])
    folder = RunFolder("out")
    print_outcome(SimpleNamespace(bags=[bag], record=record, folder=folder, format_confidence=str))
    assert capsys.readouterr().err.splitlines()[:2] == ["read in part: one page", "left out: damaged"]
