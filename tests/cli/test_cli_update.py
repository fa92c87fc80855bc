from typer.testing import CliRunner

from segvote.cli.app import load_commands


def test_update_says_where_everything_lies(run_copy):
    done = CliRunner().invoke(load_commands(), ["update", str(run_copy), "--jobs", "1"])
    assert done.exit_code == 0, done.output
    assert str(run_copy / "report.html") in done.output.replace("\n", "")
