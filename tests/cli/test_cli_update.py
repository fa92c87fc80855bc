from typer.testing import CliRunner

from segvote.cli.app import load_commands
from segvote.run.run import Run


def test_update_removes_an_image_and_says_where_everything_lies(run_copy):
    arguments = ["update", str(run_copy), "--remove", "with-000", "--jobs", "1"]
    done = CliRunner().invoke(load_commands(), arguments)
    assert done.exit_code == 0, done.output
    assert str(run_copy / "report.html") in done.output.replace("\n", "")
    assert len(Run(run_copy)) == 11
    assert Run(run_copy).record["inputs"]["removed"] == ["with/with-000.png"]
    assert not (run_copy / "masks/with/with-000.png").exists()
    assert "with/with-000.png" in (run_copy / "report.html").read_text()  # among those removed
