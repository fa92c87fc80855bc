"""Commands on a finished run: export, import, predict, update, and the lines of progress."""

import json

from calling import call
from msgspec.structs import replace

from segvote import export, load_run
from segvote.cli import terminal
from segvote.cli.predict import print_predictions
from segvote.pipeline.predict import Prediction, Predictions
from segvote.run.record import Inputs
from segvote.run.run_folder import RunFolder


def run(*arguments):
    done = call(*arguments)
    assert done.returncode == 0, done.stderr
    return done


def test_export_passes_its_options_and_prints_the_path(finished_run, tmp_path):
    path, rest = finished_run.folder.path, ["--label", "blob", "--instances", "--min-area", "1000000"]
    done = run("export", path, "--format", "coco", "-o", tmp_path, *rest)
    assert str(tmp_path) in done.stdout
    written = json.loads((tmp_path / "annotations/instances_train.json").read_text())
    assert [one["name"] for one in written["categories"]] == ["blob"]
    assert json.loads((tmp_path / "results_train.json").read_text()) == []


def test_the_training_line_names_the_file(finished_run, tmp_path):
    arguments = ["export", finished_run.folder.path, "--format", "yolo", "-o", tmp_path / "set"]
    assert f"yolo segment train data={tmp_path / 'set/data.yaml'}" in run(*arguments).stdout
    done = run(*arguments, "--boxes", "--overwrite")
    assert "yolo detect train" in done.stdout and "-seg" not in done.stdout


def test_import_counts_images_and_names_the_next_command(run_copy, tmp_path):
    written = export(run_copy, "coco", tmp_path / "out")
    assert run("import", run_copy, written).stdout == "corrected 0, unchanged 12, left out 0\n"
    done = run("import", run_copy, written, "--confirm")
    assert "corrected 12" in done.stdout and f"segvote update {run_copy}" in done.stdout
    folder = RunFolder(run_copy)
    folder.corrections_path.unlink()
    folder.write_record(replace(folder.read_record(), inputs=Inputs("/photos/cow", "/photos")))
    assert "`segvote annotate --classes`" in run("import", run_copy, written, "--confirm").stdout


def test_predict_warns_of_too_few_training_images(finished_run, scenes, tmp_path):
    done = run("predict", finished_run.folder.path, scenes / "without", "-o", tmp_path / "new", "--jobs", "1")
    assert "of 6 images" in done.stdout
    assert "one false positive in 7 images" in done.stderr
    assert (tmp_path / "new" / "predictions.csv").is_file()
    assert "6 do not show it" in (tmp_path / "new" / "report.html").read_text()
    assert f"report    {tmp_path / 'new' / 'report.html'}" in done.stdout


def test_images_unlike_both_folders_are_counted(tmp_path, capsys):
    rest = {"probability": 0.9, "p_value": 0.01, "score": 0.4, "area": 0.0}
    images = tuple(Prediction(f"{name}.png", name, False, name == "b", **rest) for name in "abc")
    print_predictions(Predictions(tmp_path, images, 0.1, 0.2, ()))
    assert "unlike    1 of 3 images are unlike both folders" in capsys.readouterr().out


def test_update_prints_the_path_of_the_report(run_copy):
    assert str(run_copy / "report.html") in run("update", run_copy, "--jobs", "1").stdout


def test_update_passes_its_scheduler_on(run_copy, monkeypatch):
    asked = {}

    def update(folder, **options):
        asked.update(options)
        return load_run(folder)

    monkeypatch.setattr("segvote.api.update", update)
    run("update", run_copy, "--scheduler", "tcp://10.0.0.1:8786")
    assert asked["scheduler"] == "tcp://10.0.0.1:8786"


def test_lines_of_progress_come_for_long_steps_only(monkeypatch):
    lines, first, later = [], terminal.FIRST_LINE, terminal.FIRST_LINE + terminal.NEXT_LINE
    progress = terminal.LineProgress(lines.append)
    for now, step, done in [
        (0, "short", 0),
        (first / 2, "short", 10),
        (first, "vote", 0),
        (2 * first, "vote", 3),
        (2 * first + 1, "vote", 4),
        (first + later, "vote", 9),
    ]:
        monkeypatch.setattr(terminal.time, "monotonic", lambda now=now: now)
        progress.report(step, done, 10)
    assert lines == ["vote: 3 of 10, 7 s left", "vote: 9 of 10, 4 s left"]


def test_evaluate_from_review_prints_the_estimate(run_copy, tmp_path):
    assert "at least two finished images" in call("evaluate", run_copy, "--from-review").stderr
    run("import", run_copy, export(run_copy, "coco", tmp_path / "out"), "--confirm")
    told = run("evaluate", run_copy, "--from-review").stdout
    assert "6 finished images: left out" in told and "expected IoU of the other images" in told
    assert json.loads(run("evaluate", run_copy, "--from-review", "--json").stdout)["n_finished"] == 6
    assert "give one of them" in call("evaluate", run_copy).stderr


def test_masks_of_classes_are_rejected(tmp_path):
    done = call("annotate", "--classes", tmp_path, "-o", tmp_path / "out", "--masks", tmp_path)
    assert done.returncode and "import masks into the run of a class" in done.stderr
