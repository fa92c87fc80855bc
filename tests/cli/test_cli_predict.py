from typer.testing import CliRunner

from segvote.cli.app import load_commands
from segvote.cli.predict import format_predictions
from segvote.steps.predict import Prediction, Predictions


def test_predict_warns_of_too_few_training_images(finished_run, scenes, tmp_path):
    arguments = ["predict", str(finished_run.folder.path), str(scenes / "without"), "-o", str(tmp_path / "new")]
    done = CliRunner().invoke(load_commands(), [*arguments, "--jobs", "1"])
    assert done.exit_code == 0, done.output
    assert "of 6 images" in done.output
    assert "one false positive in 7 images" in done.output
    assert (tmp_path / "new" / "predictions.csv").is_file()
    assert "6 do not show it" in (tmp_path / "new" / "report.html").read_text()
    assert f"report    {tmp_path / 'new' / 'report.html'}" in done.output


def test_images_unlike_both_folders_are_counted(tmp_path):
    rest = {"probability": 0.9, "p_value": 0.01, "score": 0.4, "area": 0.0}
    images = tuple(Prediction(f"{name}.png", name, False, name == "b", **rest) for name in "abc")
    found = Predictions(tmp_path, images, 0.1, 0.2, ())
    assert "unlike    1 of 3 images are unlike both folders" in format_predictions(found)
    assert "unlike both" not in format_predictions(Predictions(tmp_path, images[:1], 0.1, 0.2, ()))
