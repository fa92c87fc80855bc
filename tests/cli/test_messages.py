"""Messages: each names the mistake and what to do."""

import os
import shutil

import pytest
from calling import call
from msgspec.structs import replace

from segvote import annotate_classes
from segvote.cli.annotate import print_outcome
from segvote.inputs.bags import Problem
from segvote.run.run import Run
from segvote.settings import Settings

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})


@pytest.fixture(scope="module")
def classes(scenes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    shutil.copytree(scenes / "with", folder / "in/cup")
    shutil.copytree(scenes / "without", folder / "in/none")
    annotate_classes(folder / "in", folder / "out", QUICK, n_jobs=1)
    return folder / "out"


@pytest.mark.parametrize(
    ("command", "more"), [("evaluate", ["--truth", "."]), ("explain", ["with-000"]), ("update", [])]
)
def test_a_run_on_classes_names_the_folder_to_give(classes, command, more):
    done = call(command, classes, *more)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1] == (
        f"segvote: {classes} is a run on several classes; give the folder of one: {classes / 'classes' / 'cup'}"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a"], "expected two folders, WITH and WITHOUT"),
        (["a", "b"], "expected a run folder to write to; add -o DIR"),
        (["a", "--classes", "b"], "expected two folders or --classes, got both"),
    ],
)
def test_missing_folders_have_their_own_messages(arguments, message):
    done = call("annotate", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"segvote: {message}")


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


def test_a_stack_read_in_part_is_not_left_out(finished_run, capsys):
    problems = [Problem(finished_run.bags[0].name, "one page"), Problem("with/b.tif", "damaged")]
    run = Run(finished_run.folder.path)
    run.record = replace(run.record, problems=problems)
    print_outcome(run)
    assert capsys.readouterr().err.splitlines()[:2] == ["read in part: one page", "left out: damaged"]
