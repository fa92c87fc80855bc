"""`segvote choose`, and the question that `annotate` ends with."""

import pytest
from calling import call
from msgspec.structs import replace

from segvote.cli.annotate import ask_which
from segvote.run.correction_log import read_actions
from segvote.run.run import Run


def test_choose_writes_the_run_and_says_how_to_go_back(run_copy):
    done = call("choose", run_copy, "b", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert f"shows    B, as chosen; the default: segvote choose {run_copy} A" in done.stdout
    assert Run(run_copy).alternative == 1 and "as you chose" in (run_copy / "report.html").read_text()


@pytest.mark.parametrize("letter", ["Z", "BB", "0"])
def test_a_letter_that_does_not_exist_is_one_line(run_copy, letter):
    done = call("choose", run_copy, letter)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "see the report" in done.stderr
    assert read_actions(run_copy / "review.sqlite") == []


def test_annotate_takes_an_alternative(run_copy):
    run = Run(run_copy)
    options = ["--features", "color", "--n-segments", "40", "--size", "160", "--voter-option", "n_neighbors=15"]
    folders = [run.inputs.with_folder, run.inputs.without_folder]
    done = call("annotate", *folders, "-o", run_copy, "--alternative", "B", "--jobs", "1", *options)
    assert done.returncode == 0, done.stderr
    assert Run(run_copy).alternative == 1


@pytest.mark.parametrize(("folders", "letter"), [(["a", "b"], "BB"), (["--classes", "a"], "B")])
def test_a_wrong_choice_is_refused_before_the_run(tmp_path, folders, letter):
    done = call("annotate", *folders, "-o", tmp_path / "out", "--alternative", letter)
    assert done.returncode == 2 and "expected" in done.stderr and not (tmp_path / "out").exists()


def test_the_question_is_asked_only_where_it_is_in_doubt(run_copy):
    run = Run(run_copy)
    asked = {}
    for level in ("low", "fair", "high"):
        run.record = replace(run.record, confidence={"level": level})
        asked[level] = ask_which(run)
    assert (
        asked["low"]
        == asked["fair"]
        == (f"Is it one of these? See report.html, then, for B: segvote choose {run_copy} B")
    )
    assert asked["high"] == ""
