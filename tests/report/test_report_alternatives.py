"""The question at the top of the report: one strip of pictures for each alternative."""

from msgspec.structs import replace

from segvote.report import write_report
from segvote.report.alternatives import format_alternatives
from segvote.report.extents import choose_images
from segvote.run.alternatives import NO_ALTERNATIVES, read_alternatives, write_alternatives


def judge(run, level, **record):
    run.record = replace(run.record, confidence={**run.record.confidence, "level": level}, **record)
    return format_alternatives(run)


def open_copy(finished_run, run_copy):
    return type(finished_run)(run_copy)


def test_each_alternative_has_its_strip_and_its_command(finished_run, run_copy):
    run = open_copy(finished_run, run_copy)
    n_found, page = len(read_alternatives(run)), judge(run, "low")
    assert n_found > 1 and page.count("<tr") == n_found
    assert page.count("<img") == n_found * len(choose_images(run))
    assert "Is it one of these?" in page and f"<code>segvote choose {run_copy} B</code>" in page
    assert page.count("shown now") == 1


def test_the_question_is_open_only_where_it_is_in_doubt(finished_run, run_copy):
    run = open_copy(finished_run, run_copy)
    is_open = {level: '<details class="alternatives" open>' in judge(run, level) for level in ("low", "fair", "high")}
    assert is_open == {"low": True, "fair": True, "high": False}


def test_a_choice_folds_the_question_and_names_it(finished_run, run_copy):
    page = judge(open_copy(finished_run, run_copy), "low", alternative=1)
    assert "The masks show B, as you chose" in page and "open>" not in page
    assert f"<code>segvote choose {run_copy} A</code>" in page and f"choose {run_copy} B</code>" not in page


def test_without_alternatives_there_is_no_question(finished_run, run_copy):
    run = open_copy(finished_run, run_copy)
    write_alternatives(run.folder, NO_ALTERNATIVES)
    assert judge(run, "low") == ""


def test_damaged_alternatives_leave_the_rest_of_the_page(finished_run, run_copy):
    run = open_copy(finished_run, run_copy)
    run.folder.alternatives_path.write_bytes(b"nothing")
    assert "alternatives cannot be shown" in format_alternatives(run)
    run.folder.report_path.unlink(missing_ok=True)
    assert 'id="cards"' in write_report(run).read_text()
