"""Comparisons as tables, curves and pages."""

import re
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from segvote.cli.app import load_commands
from segvote.evaluation.compare import Plan, compare
from segvote.evaluation.compare_results import Combination, Comparison, Result
from segvote.evaluation.compare_stage import RULES
from segvote.report.experiment_pages import format_comparison_page, write_comparison
from segvote.report.experiment_tables import (
    Bold,
    format_latex,
    format_markdown,
    format_text,
    list_comparison_rows,
    list_failure_rows,
    list_set_rows,
)
from segvote.report.figures import Line, draw_lines
from segvote.run.settings import Settings

QUICK = Settings(features="color", n_segments=40, size=160)


def make_result(voter, ious, features="color", reason=""):
    overlaps = [(iou, 1.0) for iou in ious]
    rules = {} if reason else dict.fromkeys(RULES, overlaps)
    names = [f"with/{place}.png" for place in range(len(ious))]
    combination = Combination("ward", features, voter)
    return Result(combination, voter, names, overlaps=rules, limits=[(1.0, 1.0)] * len(ious), reason=reason)


def make_comparison(tmp_path, results):
    return Comparison(tmp_path, tmp_path, "ekde", 0.5, results)


@pytest.fixture(scope="module")
def comparison(scenes, tmp_path_factory):
    plan = Plan(voters=("ekde", "negmin"), features=("color", "absent"))
    out = tmp_path_factory.mktemp("compare_report") / "out"
    return compare(scenes / "with", scenes / "without", scenes / "masks", out, plan, QUICK, n_jobs=1)


def test_the_best_method_is_first_and_its_figures_are_bold(tmp_path):
    results = [make_result("crane", [0.2, 0.6]), make_result("ekde", [0.7, 0.9])]
    rows = list_comparison_rows(make_comparison(tmp_path, results))
    assert [row[0] for row in rows] == ["method", "ekde", "crane"]
    assert isinstance(rows[1][1], Bold)
    assert not isinstance(rows[2][1], Bold)
    assert rows[2][8] == "+0.400"
    assert rows[1][8] == ""


def test_a_method_missing_on_a_set_comes_last(tmp_path):
    good = make_comparison(tmp_path, [make_result("crane", [0.6]), make_result("ekde", [0.2])])
    poor = make_comparison(tmp_path, [make_result("crane", [], reason="too slow"), make_result("ekde", [0.9])])
    rows = list_set_rows({"one": good, "two": poor})
    assert rows[0] == ["method", "one", "two", "mean"]
    assert rows[1] == ["ekde", "0.00", "1.00", "0.50"]
    assert rows[2] == ["crane", "1.00", "–", "–"]
    assert isinstance(rows[2][1], Bold)
    assert not isinstance(rows[2][3], Bold)
    assert list_failure_rows(poor)[1:] == [["crane", "too slow"]]


def test_tables_are_aligned_text_markdown_and_latex():
    rows = [["method", "a_1"], ["one · x", Bold("0.50")], ["100 %", "–"]]
    assert format_text(rows).splitlines() == ["method    a_1", "one · x  0.50", "100 %       –"]
    assert format_markdown(rows).splitlines()[2] == "| one · x | **0.50** |"
    latex = format_latex(rows)
    assert r"one $\cdot$ x & \textbf{0.50} \\" in latex
    assert r"100 \% & -- \\" in latex
    assert r"a\_1" in latex


def test_curves_are_well_formed_and_names_are_escaped():
    lines = [Line(f"<{number}>", [0, 1], [1, 0.5]) for number in range(20)]
    root = ElementTree.fromstring(draw_lines(lines, "a & b", "recall", "precision", marks=True))
    shown = "".join(root.itertext())
    assert "<19>" in shown
    points = [float(value) for value in re.findall(r"[\d.]+", " ".join(e.get("points", "") for e in root.iter()))]
    assert len(points) == 80
    assert max(points) <= 560
    height = float(root.get("viewBox").split()[3])
    assert all(float(text.get("y")) <= height for text in root.iter("{http://www.w3.org/2000/svg}text"))


def test_the_page_is_one_file(comparison):
    page = format_comparison_page(comparison, "<title>")
    assert "&lt;title&gt;" in page
    assert page.count("data:image/jpeg") == 6 * 3
    assert page.count("<svg") == 1
    assert "unknown feature" in page
    assert "\\begin{tabular}" in page
    assert "http" not in re.sub(r'xmlns="[^"]*"|http-equiv', "", page)


def test_all_files_are_written(comparison):
    page = write_comparison(comparison)
    assert page.is_file()
    for extension in ("md", "tex", "csv", "json"):
        assert (comparison.folder / f"comparison.{extension}").stat().st_size > 0


def test_the_command_prints_the_table_and_writes_the_page(scenes, tmp_path):
    arguments = ["compare", str(scenes / "with"), str(scenes / "without"), "--truth", str(scenes / "masks")]
    options = ["-o", str(tmp_path / "out"), "--voters", "ekde,negmin", "--features", "color", "--jobs", "1"]
    done = CliRunner().invoke(load_commands(), [*arguments, *options, "--n-segments", "40", "--size", "160"])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("method")
    page = (tmp_path / "out/comparison.html").read_text()
    assert "Figure 1: examples of the data" in page and "Figure 2: heat maps by method" in page
