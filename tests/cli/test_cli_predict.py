from typer.testing import CliRunner

from segvote.cli.app import load_commands


def test_predict_warns_of_too_few_training_images(finished_run, scenes, tmp_path):
    arguments = ["predict", str(finished_run.folder.path), str(scenes / "without"), "-o", str(tmp_path / "new")]
    done = CliRunner().invoke(load_commands(), [*arguments, "--jobs", "1"])
    assert done.exit_code == 0, done.output
    assert "of 6 images" in done.output
    assert "one false positive in 7 images" in done.output
    assert (tmp_path / "new" / "predictions.csv").is_file()
