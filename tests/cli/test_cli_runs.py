"""Commands on a finished run: export, import, predict, update, and the lines of progress."""

import json

from msgspec.structs import replace
from typer.testing import CliRunner

from segvote.cli.app import load_commands
from segvote.cli.import_ import format_command
from segvote.cli.predict import format_predictions
from segvote.cli.terminal import FIRST_LINE, NEXT_LINE, LineProgress
from segvote.run.record import Inputs
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.steps.export import export
from segvote.steps.predict import Prediction, Predictions


def test_export_writes_and_says_where(finished_run, tmp_path):
    arguments = ["export", str(finished_run.folder.path), "--format", "coco", "--label", "blob", "-o", str(tmp_path)]
    done = CliRunner().invoke(load_commands(), [*arguments, "--instances", "--min-area", "5", "--polygons"])
    assert done.exit_code == 0, done.output
    written = tmp_path / "annotations/instances_train.json"
    assert str(tmp_path) in done.output.replace("\n", "")
    assert [one["name"] for one in json.loads(written.read_text())["categories"]] == ["blob"]


def test_min_area_leaves_out_small_regions(finished_run, tmp_path):
    arguments = ["export", str(finished_run.folder.path), "--format", "coco", "-o", str(tmp_path), "--instances"]
    assert CliRunner().invoke(load_commands(), [*arguments, "--min-area", "1000000"]).exit_code == 0
    assert json.loads((tmp_path / "results_train.json").read_text()) == []


def test_the_training_line_names_the_file(finished_run, tmp_path):
    arguments = ["export", str(finished_run.folder.path), "--format", "yolo", "-o", str(tmp_path / "set")]
    done = CliRunner().invoke(load_commands(), arguments)
    assert f"yolo segment train data={tmp_path / 'set/data.yaml'}" in done.output.replace("\n", "")
    done = CliRunner().invoke(load_commands(), [*arguments, "--boxes", "--overwrite"])
    assert "yolo detect train" in done.output and "-seg" not in done.output


def test_import_counts_images_and_says_what_to_do_next(run_copy, tmp_path):
    written = export(run_copy, "coco", tmp_path / "out")
    unchanged = CliRunner().invoke(load_commands(), ["import", str(run_copy), str(written)])
    assert unchanged.output == "corrected 0, unchanged 12, left out 0\n"
    done = CliRunner().invoke(load_commands(), ["import", str(run_copy), str(written), "--confirm"])
    assert done.exit_code == 0, done.output
    assert "corrected 12" in done.output
    assert f"segvote update {run_copy}" in done.output


def test_a_class_is_voted_again_by_annotate_classes(run_copy, tmp_path):
    record = replace(RunFolder(run_copy).read_record(), inputs=Inputs("/photos/cow", "/photos"))
    (tmp_path / "out/classes").mkdir(parents=True)
    folder = run_copy.rename(tmp_path / "out/classes/cow")
    RunFolder(folder).write_record(record)
    words = f"segvote annotate --classes /photos -o {tmp_path / 'out'} --features color --n-segments 40 --size 160"
    assert format_command(Run(folder)) == words


def test_predict_warns_of_too_few_training_images(finished_run, scenes, tmp_path):
    arguments = ["predict", str(finished_run.folder.path), str(scenes / "without"), "-o", str(tmp_path / "new")]
    done = CliRunner().invoke(load_commands(), [*arguments, "--jobs", "1"])
    assert done.exit_code == 0, done.output
    assert "of 6 images" in done.output
    assert "one false positive in 7 images" in done.output
    assert (tmp_path / "new" / "predictions.csv").is_file()


def test_images_unlike_both_folders_are_counted(tmp_path):
    rest = {"probability": 0.9, "p_value": 0.01, "score": 0.4, "area": 0.0}
    images = tuple(Prediction(f"{name}.png", name, False, name == "b", **rest) for name in "abc")
    found = Predictions(tmp_path, images, 0.1, 0.2, ())
    assert "unlike    1 of 3 images are unlike both folders" in format_predictions(found)
    assert "unlike both" not in format_predictions(Predictions(tmp_path, images[:1], 0.1, 0.2, ()))


def test_update_says_where_everything_lies(run_copy):
    done = CliRunner().invoke(load_commands(), ["update", str(run_copy), "--jobs", "1"])
    assert done.exit_code == 0, done.output
    assert str(run_copy / "report.html") in done.output.replace("\n", "")


def report(moments):
    """Lines of reports at moments, each (seconds, step, done), of 10."""
    lines, now = [], [0.0]
    progress = LineProgress(lines.append, lambda: now[0])
    for seconds, step, done in moments:
        now[0] = seconds
        progress.report(step, done, 10)
    return lines


def test_a_short_step_says_nothing():
    assert report([(0, "vote", 0), (FIRST_LINE / 2, "vote", 10), (FIRST_LINE, "write", 0)]) == []


def test_a_long_step_says_how_far_it_is():
    later = FIRST_LINE + NEXT_LINE
    moments = [(0, "vote", 0), (FIRST_LINE, "vote", 3), (FIRST_LINE + 1, "vote", 4), (later, "vote", 9)]
    assert report(moments) == ["vote: 3 of 10", "vote: 9 of 10"]
