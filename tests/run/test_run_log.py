"""`log.jsonl`: the lines that are whole."""

from segvote.run.run_folder import RunFolder


def test_lines_that_are_no_json_are_passed_over(tmp_path):
    run = RunFolder(tmp_path)
    run.log(step="start")
    with run.log_path.open("a") as file:
        file.write("[" * 100_000 + "\n" + "9" * 5000 + "\ncut")
    assert [line["step"] for line in run.read_log()] == ["start"]
