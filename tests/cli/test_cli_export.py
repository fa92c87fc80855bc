import json

from typer.testing import CliRunner

from segvote.cli.app import load_commands


def test_export_writes_and_says_where(finished_run, tmp_path):
    arguments = ["export", str(finished_run.folder.path), "--format", "coco", "--label", "blob", "-o", str(tmp_path)]
    done = CliRunner().invoke(load_commands(), [*arguments, "--instances", "--min-area", "5", "--polygons"])
    assert done.exit_code == 0, done.output
    written = tmp_path / "annotations/instances_default.json"
    assert str(written) in done.output.replace("\n", "")
    assert [one["name"] for one in json.loads(written.read_text())["categories"]] == ["blob"]


def test_min_area_leaves_out_small_regions(finished_run, tmp_path):
    arguments = ["export", str(finished_run.folder.path), "--format", "coco", "-o", str(tmp_path), "--instances"]
    assert CliRunner().invoke(load_commands(), [*arguments, "--min-area", "1000000"]).exit_code == 0
    assert json.loads((tmp_path / "results.json").read_text()) == []
