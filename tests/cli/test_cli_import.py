from msgspec.structs import replace
from typer.testing import CliRunner

from segvote.cli.app import load_commands
from segvote.cli.import_ import format_command
from segvote.run.record import Inputs
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.steps.export import export


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
