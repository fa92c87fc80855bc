import json

from typer.testing import CliRunner

from segvote.cli.app import load_commands


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
